from __future__ import annotations

from condyle.simulate.seeds import stream


def test_a_stream_is_its_seed_and_its_name() -> None:
    draw = stream(3, "noise").random(4).tolist()
    assert stream(3, "noise").random(4).tolist() == draw
    assert stream(3, "field").random(4).tolist() != draw
    assert stream(4, "noise").random(4).tolist() != draw


def test_drawing_from_one_stream_moves_no_other() -> None:
    one, other = stream(1, "a"), stream(1, "b")
    one.random(1000)
    assert other.random(3).tolist() == stream(1, "b").random(3).tolist()
