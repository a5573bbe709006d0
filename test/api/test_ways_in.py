"""The Python API as someone meets it who types at a prompt or in a notebook, wrong arguments included."""

from __future__ import annotations

import json
import pydoc
from collections.abc import Callable
from pathlib import Path

import pytest

import npuflow

ROOT = Path(__file__).resolve().parents[2]
ODD = ROOT / "examples" / "odd_shapes.mlir"


@pytest.fixture(scope="module")
def compiled() -> npuflow.Compiled:
    return npuflow.compile(ODD, "npuflow-stream-k{grid=2,2}", device="toy")


@pytest.fixture(scope="module")
def report(compiled: npuflow.Compiled) -> npuflow.RunReport:
    return compiled.run()


def test_names_are_listed_and_have_help() -> None:
    public = [name for name in dir(npuflow) if not name.startswith("_")]
    assert public == npuflow.__all__
    page = pydoc.plain(pydoc.render_doc(npuflow))
    assert "Compiles MLIR text, bytecode, a file or a module" in page


def test_tab_shows_what_a_compiled_module_has(compiled: npuflow.Compiled) -> None:
    shown = {name for name in dir(compiled) if not name.startswith("__")}
    assert {"run", "sequence", "functions", "module", "timelines"} <= shown
    assert not any(name.startswith("_") for name in shown)


def test_a_name_that_is_not_there_comes_with_the_nearest() -> None:
    with pytest.raises(AttributeError, match="no attribute 'complie'; hint: did you mean compile, "):
        npuflow.complie  # noqa: B018  (looking it up is the test)


def test_what_is_shown_at_a_prompt_is_a_line(compiled: npuflow.Compiled, report: npuflow.RunReport) -> None:
    assert repr(compiled) == "<Compiled for toy: @odd_shapes>"
    assert repr(compiled["odd_shapes"]) == "<Function @odd_shapes(127x263xi16, 61x263xi16) -> (127x61xi32)>"
    (function,) = report.functions
    assert repr(function).startswith("<@odd_shapes: ")
    assert repr(report) == f"<RunReport on toy: {function!r}>"


def test_a_report_is_text_json_and_page(report: npuflow.RunReport, tmp_path: Path) -> None:
    assert report.text().startswith("@odd_shapes(127x263xi16, 61x263xi16) -> (127x61xi32) on toy")
    assert json.loads(report.json())["functions"][0]["cycles"] == report.functions[0].cycles
    page = report.html()
    assert page.startswith("<!")
    assert str(report.functions[0].cycles) in page
    for name, text in (("a.html", page), ("a.json", report.json()), ("a.txt", report.text())):
        report.save(tmp_path / name)
        report.save(str(tmp_path / name))
        assert (tmp_path / name).read_text() == text


def test_a_notebook_shows_tables(compiled: npuflow.Compiled, report: npuflow.RunReport) -> None:
    assert "<td>@odd_shapes(127x263xi16, 61x263xi16) -&gt; (127x61xi32)</td>" in compiled._repr_html_()
    assert "<td>bit-exact, against IREE</td>" in report._repr_html_()
    assert "grid 2x2" in compiled._repr_html_()


def test_files_are_named_by_text_or_path(compiled: npuflow.Compiled, tmp_path: Path) -> None:
    device = tmp_path / "mine.toml"
    device.write_text((ROOT / "python" / "npuflow" / "target" / "devices" / "toy.toml").read_text())
    by_text = npuflow.compile(str(ODD), compiled.pipeline, device=str(device))
    by_path = npuflow.compile(ODD, compiled.pipeline, device=device)
    assert str(by_text.module) == str(by_path.module)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda _: npuflow.compile(5), "the source is of type int; hint: give MLIR text, bytecode, a module, or the"),
        (lambda _: npuflow.compile(ODD, 5), "the pipeline is of type int; hint: give text such as npuflow-stream-k"),
        (lambda _: npuflow.compile(ODD, "npuflow-strem-k"), "did you mean npuflow-stream-k"),
        (lambda _: npuflow.compile(ODD, device=""), "the device is empty; hint: give a name or a TOML file"),
        (lambda _: npuflow.compile(ODD, device="npu3"), "unknown device 'npu3'; hint: did you mean npu2"),
        (lambda _: npuflow.compile(ODD, columns="2"), "columns is of type str; hint: give a whole number, 1 or larger"),
        (lambda _: npuflow.compile(ODD, columns=0), "columns is 0; hint: give a whole number, 1 or larger"),
        (lambda _: npuflow.compile(ODD, kernel_macs_per_cycle="x"), "kernel_macs_per_cycle is of type str"),
        (lambda c: c.run(judge="ire"), "unknown judge 'ire'; hint: did you mean iree"),
        (lambda c: c.run(seed=-1), "seed is -1; hint: give a whole number, 0 or larger"),
        (lambda c: c.run(seed=True), "seed is of type bool"),
        (lambda c: c.run(reference=""), "reference is empty; hint: give the path of a file"),
        (lambda c: c.run(limits=3), "limits is of type int; hint: give npuflow.Limits"),
        (lambda c: c.run(verify=3), "verify is of type int; hint: give True or False, or leave it out"),
        (lambda c: c.run(verify=False).save(3), "the file is of type int; hint: give the path of a file"),
        (lambda _: npuflow.compile(ODD, split="yes"), "split is of type str; hint: give True or False"),
        (lambda _: npuflow.compile(ODD, disable=3), "disable is of type int; hint: give names of decisions"),
        (lambda _: npuflow.compile(ODD, compute_type="i8", calibration=3), "calibration is of type int; hint: give a"),
        (lambda c: c[3], "unknown function '3'; hint: did you mean odd_shapes?"),
        (lambda c: c["odd_shape"], "unknown function 'odd_shape'; hint: did you mean odd_shapes?"),
        (lambda c: c.sequence("odd_shapes"), "no function runs as a sequence; hint: compile with split=True"),
        (lambda c: c["odd_shapes"].execute(1), "takes 2 arrays, got 1; hint: give one per argument"),
    ],
)
def test_wrong_arguments(call: Callable[[npuflow.Compiled], object], message: str, compiled: npuflow.Compiled) -> None:
    with pytest.raises(npuflow.UsageError, match=message):
        call(compiled)


def test_a_file_that_is_not_there_is_the_inputs_fault() -> None:
    with pytest.raises(npuflow.InputError, match=r"cannot open input file 'none.mlir'"):
        npuflow.compile("none.mlir")
