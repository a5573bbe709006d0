"""The list of MLIR's passes agrees with MLIR."""

from npuflow.bindings import ir
from npuflow.core.upstream import is_upstream_pass, known_to_mlir, upstream_pass_names


def test_mlir_accepts_every_listed_name() -> None:
    with ir.Context():
        assert set(known_to_mlir(sorted(upstream_pass_names()))) == set(upstream_pass_names())


def test_the_passes_that_pipelines_use_are_listed() -> None:
    assert {"canonicalize", "cse", "one-shot-bufferize", "convert-scf-to-cf", "symbol-dce"} <= upstream_pass_names()


def test_a_name_that_no_one_has_is_unknown() -> None:
    assert not is_upstream_pass("npuflow-stream-k")
    assert not is_upstream_pass("canonicalise")
