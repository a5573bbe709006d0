"""The time report's arithmetic, on a clock that tests turn by hand."""

from npuflow.bindings import ir
from npuflow.core.pipeline_text import PassNest, parse_pipeline
from npuflow.core.runner import Instrumentation, PassRun, Runner
from npuflow.core.timing import Timer, report_header
from npuflow.dialect.context import new_context


class Clock:
    def __init__(self) -> None:
        self.seconds = 0.0

    def __call__(self) -> float:
        return self.seconds


class Slow(Instrumentation):
    """Makes every pass take as long as the test says."""

    def __init__(self, clock: Clock, seconds: float) -> None:
        self.clock, self.seconds = clock, seconds

    def before_pass(self, run: PassRun) -> None:
        del run
        self.clock.seconds += self.seconds


def timed(pipeline: PassNest) -> Timer:
    """Parsing takes 1 s, every pass on every op 2 s, what is left 1 s."""
    clock = Clock()
    timer = Timer(clock)
    with timer.phase("Parser"):
        clock.seconds += 1
        module = ir.Module.parse("func.func @f() { return }\nfunc.func @g() { return }", new_context())
    Runner(pipeline, instrumentations=[timer, Slow(clock, 2)]).run(module)
    clock.seconds += 1
    return timer


def test_tree() -> None:
    """One module pass is 2 s, two function passes on two functions 8 s: 12 s with 1 s each around them."""
    pipeline = parse_pipeline("symbol-dce,func.func(cse,canonicalize)")
    assert timed(pipeline).report(pipeline).split("\n")[5:] == [
        "  ----Wall Time----  ----Name----",
        "    1.0000 (  8.3%)  Parser",
        "    2.0000 ( 16.7%)  symbol-dce",
        "    8.0000 ( 66.7%)  'func.func' Pipeline",
        "    4.0000 ( 33.3%)    cse",
        "    4.0000 ( 33.3%)    canonicalize",
        "    1.0000 (  8.3%)  Rest",
        "   12.0000 (100.0%)  Total",
        "",
    ]


def test_list_sums_by_name_and_sorts_by_time() -> None:
    pipeline = parse_pipeline("cse,symbol-dce,cse")
    rows = timed(pipeline).report(pipeline, as_list=True).split("\n")[6:]
    assert [row.split(")  ")[1] for row in rows if row] == ["cse", "symbol-dce", "Parser", "Rest", "Total"]
    assert rows[0].startswith("    4.0000")


def test_the_header_is_as_wide_as_mlirs() -> None:
    assert report_header("Pass statistics report").split("\n") == [
        "===-------------------------------------------------------------------------===",
        "                         ... Pass statistics report ...",
        "===-------------------------------------------------------------------------===",
    ]
