"""MLIR prints its statistics to stderr; they are read from there, and nothing else of it is lost."""

import os

from npuflow.bindings import ir
from npuflow.core.pipeline_text import parse_pipeline
from npuflow.core.runner import Instrumentation, PassRun, Runner
from npuflow.core.statistics import StatisticsCollector
from npuflow.core.timing import report_header
from npuflow.dialect.context import new_context

COUNTED = f"""{report_header("Pass statistics report")}
'func.func' Pipeline
  CSE
    (S) 3 num-cse'd - Number of operations CSE'd
    (S) 12 num-dce'd - Number of operations DCE'd
"""


class PrintToStderr(Instrumentation):
    """Writes as an MLIR build with counters does; the build that tests run with may have none."""

    def __init__(self, text: str) -> None:
        self.text = text

    def before_pass(self, run: PassRun) -> None:
        del run
        os.write(2, self.text.encode())


def report(text: str, pipeline_text: str, *, as_list: bool = False) -> tuple[str, str]:
    passed_on: list[str] = []
    collector = StatisticsCollector(passed_on.append)
    pipeline = parse_pipeline(pipeline_text)
    module = ir.Module.parse("func.func @f() { return }\nfunc.func @g() { return }", new_context())
    Runner(pipeline, instrumentations=[collector, PrintToStderr(text)]).run(module)
    return collector.report(pipeline, as_list=as_list).split("===\n")[-1], "".join(passed_on)


def test_counts_of_all_functions_are_added() -> None:
    shown, _ = report(COUNTED, "func.func(cse)")
    assert shown == "'func.func' Pipeline\n  cse\n    (S)  6 num-cse'd\n    (S) 24 num-dce'd\n"


def test_list_adds_a_pass_that_runs_twice() -> None:
    shown, _ = report(COUNTED, "cse,cse", as_list=True)
    assert shown == "cse\n  (S)  6 num-cse'd\n  (S) 24 num-dce'd\n"


def test_other_output_is_passed_on() -> None:
    shown, passed_on = report("a warning of C code\n", "cse")
    assert shown == "cse\n"
    assert "a warning of C code\n" in passed_on
