"""live/guide.py: a routine goes on when its joints are known, or when their time is over."""

from __future__ import annotations

from pathlib import Path

import pytest

from condyle.errors import CondyleError
from condyle.live.coach import Progress
from condyle.live.guide import FINISH_S, Guide, Routine, RoutineStep, read_routine

SCRIPT = """
title = "Warm up"
finish = "Ready!"
[[step]]
prompt = "Stand still"
at_least = 2
[[step]]
prompt = "Swing your arm"
joints = ["right shoulder"]
picture = "arm.png"
at_least = 3
at_most = 10
"""


def progress(name: str, *, done: bool) -> Progress:
    return Progress("r_upper_arm", name, 0.4, done, None)


def test_a_script_is_read_with_its_pictures(tmp_path: Path) -> None:
    (tmp_path / "arm.png").write_bytes(b"picture")
    (tmp_path / "routine.toml").write_text(SCRIPT)
    routine, pictures = read_routine(tmp_path / "routine.toml")
    assert [step.prompt for step in routine.step] == ["Stand still", "Swing your arm"]
    assert pictures["arm.png"].kind == "image/png"
    assert pictures["arm.png"].data == b"picture"


def test_a_step_waits_for_its_joint_and_no_longer_than_its_time() -> None:
    guide = Guide(
        Routine((RoutineStep("Still", at_least=2), RoutineStep("Swing", ("Right shoulder",), at_least=3, at_most=10)))
    )
    for moment, number in ((0.0, 0), (1.9, 0), (2.0, 1), (4.0, 1), (6.0, 1)):
        guide.advance(moment, [progress("right shoulder", done=False)])
        assert guide.number == number
    assert guide.describe(6.0)["text"] == "Swing"
    guide.advance(6.5, [progress("right shoulder", done=True)])
    assert guide.number == 2
    assert guide.describe(6.5)["last"]
    assert not guide.over
    guide.advance(6.5 + FINISH_S, [])
    assert guide.over
    assert str(guide) == "2 steps"


def test_a_step_whose_time_is_over_is_left_and_told() -> None:
    guide = Guide(Routine((RoutineStep("Swing", ("right shoulder",), at_least=1, at_most=5),)))
    guide.advance(0.0, [])
    guide.advance(5.0, [progress("right shoulder", done=False)])
    assert guide.number == 1
    assert str(guide) == "1 step; not known: right shoulder"


def test_a_joint_that_is_known_at_once_still_stands_long_enough_to_be_read() -> None:
    guide = Guide(Routine((RoutineStep("Swing", ("right shoulder",), at_least=3, at_most=5),)))
    for moment in (0.0, 1.0, 2.9):
        guide.advance(moment, [progress("right shoulder", done=True)])
        assert guide.number == 0


def test_the_operator_may_go_on_or_begin_anew() -> None:
    guide = Guide(Routine((RoutineStep("A", at_least=9), RoutineStep("B", at_least=9))))
    guide.advance(0.0, [])
    guide.skip()
    guide.advance(0.4, [])
    assert guide.number == 1
    guide.begin()
    assert guide.number == 0


def test_the_routine_for_a_person_names_joints_that_people_have() -> None:
    routine, _ = read_routine()
    joints = {name for step in routine.step for name in step.joints}
    assert {"neck", "right hip", "left elbow", "left ankle"} <= joints
    assert sum(step.at_least for step in routine.step) < 60


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("title = 3", "is no routine"),
        ("step = []", "has no step"),
        ("[[step]]\nat_least = 1", "missing required field `prompt`"),
        ('[[step]]\nprompt = "a"\nat_last = 1', "unknown field `at_last`"),
        ('[[step]]\nprompt = "a"\nat_least = 9\nat_most = 3', "step 1: at_least 9 s and at_most 3 s contradict"),
        ('[[step]]\nprompt = "a"\npicture = "no.png"', "the picture no.png cannot be read: No such file"),
        ('[[step]]\nprompt = "a"\npicture = "no.txt"', "none that browsers show"),
        ("[[step]", "line 1, column 7: is no TOML"),
        ("a = " + 50_000 * "[" + 50_000 * "]", "is no TOML (it is nested too deeply)"),
        ("a" + 30_000 * ".a" + " = 1", "is no TOML (it is nested too deeply)"),
        (800_000 * "# \n", "is too large for a routine"),
    ],
)
def test_a_script_that_is_none_is_told(tmp_path: Path, text: str, told: str) -> None:
    (tmp_path / "routine.toml").write_text(text)
    with pytest.raises(CondyleError, match=r"routine\.toml") as error:
        read_routine(tmp_path / "routine.toml")
    assert told in str(error.value)
    with pytest.raises(CondyleError, match="cannot be read"):
        read_routine(tmp_path / "none.toml")
