"""Reading measurements: every wrong row is reported, with its line."""

import pytest

from npuflow.errors import InputError
from npuflow.validate.measurements import parse_measurements

HEADER = (
    "id,device,source,op,in_type,out_type,M,K,N,l1_m,l1_k,l1_n,l2_k,rows,cols,"
    "kernel,kernel_macs_per_cycle,time_us,note,stack"
)
ROW = "a,npu2,s,matmul,bf16,f32,64,32,16,8,8,8,,1,2,direct,,12.5,B column-major,iron"


def test_a_row() -> None:
    (row,) = parse_measurements(f"{HEADER}\n{ROW}\n", "x.csv")
    assert (row.m, row.k, row.n, row.l2_k, row.cols, row.time_us) == (64, 32, 16, 0, 2, 12.5)
    assert (row.kernel, row.kernel_macs_per_cycle, row.note) == ("direct", 0, "B column-major")
    assert row.macs == 64 * 32 * 16


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        (",64,32,16,", ",0,32,16,", "M is '0'"),
        (",64,32,16,", ",64,-1,16,", "K is '-1'"),
        (",64,32,16,", ",64,x,16,", "K is 'x'"),
        (",12.5,", ",nan,", "time_us is 'nan'"),
        (",12.5,", ",inf,", "time_us is 'inf'"),
        (",12.5,", ",0,", "time_us is '0'"),
        (",12.5,", ",,", "time_us is empty"),
        ("a,npu2", ",npu2", "id is empty"),
        ("bf16,f32", "bf61,f32", "unknown in_type 'bf61'; hint: did you mean bf16"),
        ("bf16,f32", "bf16,f23", "unknown out_type 'f23'"),
        (",64,32,16,", ",9999999999999,32,16,", "M is '9999999999999'"),
        ("column-major,", "column-major; 0x2 blocks set up at a time,", "the note sets up no blocks"),
        ("column-major,iron", "column-major,irn", "unknown stack 'irn'; hint: did you mean iron"),
    ],
)
def test_wrong_values_are_located(old: str, new: str, said: str) -> None:
    with pytest.raises(InputError) as raised:
        parse_measurements(f"{HEADER}\n{ROW}\n{ROW.replace(old, new)}\n", "x.csv")
    (diagnostic,) = raised.value.diagnostics
    assert said in diagnostic.message
    assert str(diagnostic.location) == "x.csv:3"


def test_a_stack_is_named_or_follows_from_the_source() -> None:
    named, told, unknown = (
        parse_measurements(f"{HEADER}\n{ROW.replace(',s,', source).replace(',iron', stack)}\n", "x.csv")[0].stack.name
        for source, stack in ((",s,", ",iron"), (",x Aries y,", ","), (",s,", ","))
    )
    assert (named, told, unknown) == ("iron", "aries", "")


def test_missing_columns() -> None:
    with pytest.raises(InputError, match="lacks the columns device, source"):
        parse_measurements("id,op\na,matmul\n", "x.csv")


def test_short_rows() -> None:
    with pytest.raises(InputError, match="time_us is empty"):
        parse_measurements(f"{HEADER}\na,npu2,s,matmul,bf16,f32,64\n", "x.csv")
