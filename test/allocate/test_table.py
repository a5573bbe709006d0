"""Files of buffers: what they mean, what comes back, and what is wrong with them, by line."""

from __future__ import annotations

import pytest

from npuflow.allocate.problem import LiveBuffer
from npuflow.allocate.table import check_capacity, parse_table, table_text
from npuflow.errors import InputError

HEADER = "id,lower,upper,size\n"


def test_columns_come_in_any_order_and_others_are_kept() -> None:
    table = parse_table('size,id,note,upper,alignment,lower\n5,a,"x, y",3,,-1\n\n7,b,,+4, 8 ,0\n', "t.csv")
    assert table.buffers == (LiveBuffer("a", -1, 3, 5), LiveBuffer("b", 0, 4, 7, 8))
    assert table.lines == (2, 4)
    written = table_text(table, [8, 16])
    assert written == 'size,id,note,upper,alignment,lower,offset\n5,a,"x, y",3,,-1,8\n7,b,,+4, 8 ,0,16\n'
    again = parse_table(written, "again.csv")
    assert again.buffers == table.buffers
    assert table_text(again, [0, 8]).splitlines()[1:] == ['5,a,"x, y",3,,-1,0', "7,b,,+4, 8 ,0,8"]


def test_windows_text_is_read() -> None:
    assert parse_table("\ufeffid,lower,upper,size\r\n0,1,2,3\r\n".lstrip("\ufeff"), "t.csv").buffers[0].size == 3


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "t.csv:1: error: the file has no first line; hint: the first line names the columns"),
        ("\n", "the file has no first line"),
        (HEADER, "t.csv:1: error: there are no buffers below the first line"),
        ("id,lower,size\n0,1,2\n", "t.csv:1: error: the first line lacks upper"),
        ("id,lower,upper,size,size\n0,1,2,3,3\n", "names size more than once"),
        (HEADER + "0,1,2\n", "t.csv:2: error: the row has 1 fewer values than the first line"),
        (HEADER + "0,1,2,3,4\n", "t.csv:2: error: the row has 1 more values"),
        (HEADER + ",1,2,3\n", "t.csv:2: error: id is empty"),
        (HEADER + "0,1,2,3\n0,1,2,3\n", "t.csv:3: error: id '0' is that of line 2 as well"),
        (HEADER + "0,x,2,3\n", "t.csv:2: error: lower is 'x'; hint: give a whole number"),
        (HEADER + "0,1,2,1.5\n", "size is '1.5'"),
        (HEADER + "0,1,2,\n", "size is ''"),
        (HEADER + "0,1,2,-3\n", "t.csv:2: error: size is -3; hint: give 0 or more"),
        (HEADER + "0,2,2,3\n", "t.csv:2: error: the buffer lives from 2 to before 2: never"),
        (HEADER + "0,1,9223372036854775808,3\n", "upper is 9223372036854775808, beyond 64 bits"),
        (HEADER + f"0,1,2,{'9' * 5000}\n", "beyond 64 bits"),
        (HEADER + "0,1,2,1000000000000000000\n1,1,2,1000000000000000000\n", "t.csv:3: error: sizes and alignments"),
        ("id,lower,upper,size,alignment\n0,1,2,3,0\n", "alignment is 0; hint: give 1 or more"),
        (HEADER + '0,1,2,"' + "3" * 200000 + '"\n', "t.csv:2: error: this is no CSV"),
    ],
)
def test_what_is_wrong_is_said_with_its_line(text: str, said: str) -> None:
    with pytest.raises(InputError) as caught:
        parse_table(text, "t.csv")
    assert said in str(caught.value)
    assert len(str(caught.value)) < 400


def test_all_wrong_rows_are_said_at_once() -> None:
    with pytest.raises(InputError) as caught:
        parse_table(HEADER + "0,1,2,-3\n1,5,4,x\n", "t.csv")
    assert [str(d.location) for d in caught.value.diagnostics] == ["t.csv:2", "t.csv:3", "t.csv:3"]


def test_what_cannot_fit_is_said_with_its_numbers() -> None:
    table = parse_table(HEADER + "a,0,2,6\nb,1,3,5\nc,2,4,30\n", "t.csv")
    check_capacity(table, 35)
    with pytest.raises(InputError, match=r"t\.csv:4: error: buffer c has 30 bytes, the capacity is 20"):
        check_capacity(table, 20)
    with pytest.raises(
        InputError, match=r"t\.csv:4: error: at time 2 2 buffers live that need 35 bytes, the capacity is 34"
    ) as caught:
        check_capacity(table, 34)
    assert "(c with 30, b with 5)" in str(caught.value)
