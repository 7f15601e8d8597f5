from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from condyle import read_skeleton
from condyle.cli.summary import MOST_LOOPS, find_true_length, print_fit
from condyle.model.skeleton import Limb


def test_a_fit_is_a_sentence_its_joints_and_its_lengths(noisy: Path, capsys: pytest.CaptureFixture[str]) -> None:
    skeleton = read_skeleton(noisy)
    print_fit(skeleton)
    lines = capsys.readouterr().out.splitlines()
    assert lines[0] == str(skeleton)
    assert lines[2].split()[:3] == ["joint", "parent", "kind"]
    assert [line.split()[0] for line in lines[3:6]] == [joint.child for joint in skeleton.joints]
    assert any("95 % interval" in line for line in lines)


def test_known_lengths_stand_beside_those_found(noisy: Path, capsys: pytest.CaptureFixture[str]) -> None:
    skeleton = read_skeleton(noisy)
    limb = skeleton.limbs[0]
    assert limb.length is not None
    print_fit(skeleton, {(limb.body, limb.to_joint, limb.from_joint): limb.length - 0.001})
    assert "+1.0" in capsys.readouterr().out
    print_fit(skeleton, {(limb.body, limb.to_joint, limb.from_joint): limb.length + 0.00001})
    text = capsys.readouterr().out
    assert "+0.0" in text
    assert "-0.0" not in text


def test_a_limb_is_known_whichever_way_round_its_joints_are() -> None:
    limb = Limb("a", "b", "c", 1.0, None, None)
    assert find_true_length(limb, {("a", "c", "b"): 2.0}) == 2.0
    assert find_true_length(limb, {("a", "b", "c"): 3.0}) == 3.0
    assert find_true_length(limb, {}) is None


def test_many_loops_are_cut_and_open_lengths_named(noisy: Path, capsys: pytest.CaptureFixture[str]) -> None:
    skeleton = read_skeleton(noisy)
    loop = replace(skeleton.joints[0], time=(1.0, 2.5))
    limb = replace(skeleton.limbs[0], length=None, low=None, high=None)
    print_fit(replace(skeleton, loops=(loop,) * (MOST_LOOPS + 3), limbs=(limb,)))
    text = capsys.readouterr().out
    assert "and 3 more" in text
    assert "2.50" in text
    assert f"not determined: {limb.body} ({limb.from_joint} to {limb.to_joint})" in text
