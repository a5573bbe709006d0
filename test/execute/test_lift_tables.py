"""Large constants are handed to what runs on the CPU, not compiled into it."""

from __future__ import annotations

import numpy as np
import pytest

from npuflow.core.parsing import parse
from npuflow.dialect.context import new_context
from npuflow.execute.jit import compile_function


@pytest.mark.parametrize(("element", "dtype"), [("f32", np.float32), ("i8", np.int8), ("i64", np.int64)])
def test_a_large_constant_is_a_table_and_its_function_takes_no_more_than_before(element: str, dtype: type) -> None:
    values = np.arange(2048).reshape(64, 32).astype(dtype)
    pair = "[1.0, 2.0]" if element == "f32" else "[1, 2]"
    text = f"""func.func @f(%i: i32) -> (tensor<64x32x{element}>, tensor<2x{element}>) {{
      %c = arith.constant dense<"0x{values.tobytes().hex().upper()}"> : tensor<64x32x{element}>
      %s = arith.constant dense<{pair}> : tensor<2x{element}>
      return %c, %s : tensor<64x32x{element}>, tensor<2x{element}>
    }}"""
    module = parse(text, new_context())
    executable = compile_function(module.operation, "f")
    assert [table.nbytes for table in executable.tables] == [values.nbytes]
    ran = executable.run([np.asarray(3, np.int32)])
    np.testing.assert_array_equal(ran.results[0], values)
    np.testing.assert_array_equal(ran.results[1], np.array([1, 2], dtype))
    assert len(ran.arguments) == 1
