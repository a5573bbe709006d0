"""Which loops of bundles go piece by piece, what runs for each piece, and what pieces hand on."""

from __future__ import annotations

import npuflow
from npuflow.bindings import ir
from npuflow.core.passes import ops_of
from npuflow.ops.bundle import Bundle, make_bundle
from npuflow.ops.streams import HandedOn, Streaming, stream_of

MATRIX = "affine_map<(i, j) -> (i, j)>"
ROWS = "affine_map<(i, j) -> (i)>"
PRODUCT = ("affine_map<(i, j, k) -> (i, k)>", "affine_map<(i, j, k) -> (k, j)>", "affine_map<(i, j, k) -> (i, j)>")
ADD = "%t = arith.addf %o, %x : f32"


def generic(result: str, maps: tuple[str, ...], kinds: str, ins: tuple[str, ...], body: str, running: str = "") -> str:
    names = {"p": '"parallel"', "r": '"reduction"'}
    listed = ", ".join(names[kind] for kind in kinds)
    shapes = {"%row": "8xf32", "%m": "8xf32"}
    types = ", ".join(f"tensor<{shapes.get(name, '8x8xf32')}>" for name in ins)
    out = "%row" if maps[-1] == ROWS else "%e"
    kind = f"tensor<{shapes.get(out, '8x8xf32')}>"
    arguments = ", ".join(f"%{'xyz'[number]}: f32" for number in range(len(ins)))
    return f"""
  {result} = linalg.generic {{indexing_maps = [{", ".join(maps)}], iterator_types = [{listed}]}}
      ins({", ".join(ins)} : {types}) outs({out} : {kind}) {running} {{
  ^bb0({arguments}, %o: f32):
    {body}
    linalg.yield %t : f32
  }} -> {kind}"""


MULTIPLY = "%u = arith.mulf %x, %y : f32\n    %t = arith.addf %o, %u : f32"


def bundle_of(*ops: str) -> Bundle:
    text = f"""
func.func @f(%a: tensor<8x8xf32>, %b: tensor<8x8xf32>, %d: tensor<8x8xf32>, %row: tensor<8xf32>) {{
  %e = tensor.empty() : tensor<8x8xf32>{"".join(ops)}
  return
}}"""
    module = npuflow.parse(text, npuflow.new_context())
    BUNDLES.append(module)
    return make_bundle(ops_of(module.operation, "linalg.generic"))


BUNDLES: list[ir.Module] = []  # which keep their ops alive

FIRST = generic("%s", PRODUCT, "ppr", ("%a", "%b"), MULTIPLY)
HALVED = generic("%h", (MATRIX, MATRIX), "pp", ("%s",), "%t = arith.addf %x, %x : f32")
LAST = generic("%r", PRODUCT, "ppr", ("%h", "%d"), MULTIPLY)


def test_what_the_last_of_two_products_sums_over_goes_by_pieces() -> None:
    bundle = bundle_of(FIRST, HALVED, LAST)
    (loop,) = stream_of(bundle).loops
    # It is the last op's third loop, and the second one of those before.
    assert [own.index(loop) for own in bundle.loops] == [1, 1, 2]
    assert stream_of(bundle) == Streaming((loop,), (0, 1, 2), (HandedOn((2, 0), (2, 0)),))


def test_what_is_read_behind_a_sum_too_is_whole() -> None:
    """A softmax goes through its scores again once their maximum is known."""
    largest = generic("%m", (MATRIX, ROWS), "pr", ("%s",), "%t = arith.maximumf %o, %x : f32")
    less = generic("%h", (MATRIX, ROWS, MATRIX), "pp", ("%s", "%m"), "%t = arith.subf %x, %y : f32")
    assert stream_of(bundle_of(FIRST, largest, less, LAST)) == Streaming()


def test_running_sums_hand_on_what_they_write_over() -> None:
    """Whoever says that the maximum is a running one has seen to it that what was made of others is corrected."""
    running = "attrs = {npu.running}"
    largest = generic("%m", (MATRIX, ROWS), "pr", ("%s",), "%t = arith.maximumf %o, %x : f32", running)
    less = generic("%h", (MATRIX, ROWS, MATRIX), "pp", ("%s", "%m"), "%t = arith.subf %x, %y : f32")
    last = generic("%r", PRODUCT, "ppr", ("%h", "%d"), MULTIPLY, running)
    stream = stream_of(bundle_of(FIRST, largest, less, last))
    assert stream.ops == (0, 1, 2, 3)
    # The result starts from a tensor that is empty here: nothing of it is there to go on from.
    assert stream.handed_on == (HandedOn((1, 0), (1, 0)),)


def test_a_sum_alone_is_streamed_with_what_is_in_front_of_it() -> None:
    squares = generic("%s", (MATRIX, MATRIX), "pp", ("%a",), "%t = arith.mulf %x, %x : f32")
    total = generic("%m", (MATRIX, ROWS), "pr", ("%s",), ADD)
    bundle = bundle_of(squares, total)
    assert stream_of(bundle) == Streaming((1,), (0, 1), (HandedOn((1, 0), (1, 0)),))


def test_nothing_is_streamed_where_nothing_is_summed() -> None:
    assert stream_of(bundle_of(generic("%s", (MATRIX, MATRIX), "pp", ("%a",), ADD))) == Streaming()


def test_what_is_read_in_strides_is_whole_and_does_not_go_by_pieces() -> None:
    text = """
func.func @f(%x: tensor<2x8xf32>, %w: tensor<2xf32>) {
  %e = tensor.empty() : tensor<2x8xf32>
  %h = tensor.empty() : tensor<2x4xf32>
  %s = tensor.empty() : tensor<2xf32>
  %v = linalg.generic {indexing_maps = [affine_map<(c, i) -> (c, i)>, affine_map<(c, i) -> (c, i)>],
      iterator_types = ["parallel", "parallel"]} ins(%x : tensor<2x8xf32>) outs(%e : tensor<2x8xf32>) {
  ^bb0(%a: f32, %o: f32):
    %n = arith.negf %a : f32
    linalg.yield %n : f32
  } -> tensor<2x8xf32>
  %p = linalg.generic {indexing_maps = [affine_map<(c, i, k) -> (c, 2 * i + k)>, affine_map<(c, i, k) -> (k)>,
      affine_map<(c, i, k) -> (c, i)>], iterator_types = ["parallel", "parallel", "reduction"]}
      ins(READ, %w : tensor<2x8xf32>, tensor<2xf32>) outs(%h : tensor<2x4xf32>) {
  ^bb0(%a: f32, %b: f32, %o: f32):
    %m = arith.maximumf %a, %o : f32
    linalg.yield %m : f32
  } -> tensor<2x4xf32>
  %r = linalg.generic {indexing_maps = [affine_map<(c, i) -> (c, i)>, affine_map<(c, i) -> (c)>],
      iterator_types = ["parallel", "reduction"]} ins(%p : tensor<2x4xf32>) outs(%s : tensor<2xf32>) {
  ^bb0(%a: f32, %o: f32):
    %t = arith.addf %a, %o : f32
    linalg.yield %t : f32
  } -> tensor<2xf32>
  return
}"""
    for read, negated in (("%x", 1), ("%v", 0)):
        module = npuflow.parse(text.replace("READ", read), npuflow.new_context())
        bundle = make_bundle(ops_of(module.operation, "linalg.generic")[negated:])
        assert len(stream_of(bundle).loops) == negated
