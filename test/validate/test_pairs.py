"""Which of two designs is faster: pairs of equal work, on made-up predictions."""

import dataclasses

from npuflow.validate.measurements import Measurement
from npuflow.validate.pairs import pairs_of, rank
from npuflow.validate.summary import Prediction

ROW = Measurement("a", "npu1", "s", "matmul", "i8", "i8", m=256, k=512, n=1024, time_us=100)


def made(name: str, time_us: float, predicted_us: float, **changes: object) -> Prediction:
    return Prediction(dataclasses.replace(ROW, id=name, time_us=time_us, **changes), predicted_us)  # type: ignore[arg-type]


def test_pairs_are_of_equal_work_and_well_apart() -> None:
    rows = [
        made("a", 100, 100),
        made("close", 110, 90, m=512, n=512),
        made("far", 111, 90, m=1024, n=256),
        made("more work", 300, 90, n=2048),
        made("another operator", 300, 90, op="add"),
    ]
    assert [(pair.faster.row.id, pair.slower.row.id) for pair in pairs_of(rows)] == [("a", "far")]


def test_rankings_of_devices() -> None:
    rows = [
        made("slow", 300, 100),
        made("right", 100, 90),
        made("wrong", 200, 110, in_type="bf16"),
        made("elsewhere", 100, 1, device="npu2"),
    ]
    (ranking,) = rank(rows, lambda prediction: prediction.row.device)
    assert (ranking.device, ranking.pairs, ranking.right) == ("npu1", 3, 2)
    # Of one type are only `slow` and `right`.
    assert (ranking.alike, ranking.alike_right) == (1, 1)
    assert [(pair.faster.row.id, pair.slower.row.id) for pair in ranking.wrong] == [("wrong", "slow")]
    assert ranking.roofline_pairs == 0


def test_a_tie_is_not_told() -> None:
    (ranking,) = rank([made("a", 100, 5), made("b", 200, 5)], lambda _: "x")
    assert (ranking.pairs, ranking.right) == (1, 0)
