"""skeleton.json: exact, strict, and refused with a sentence when it is broken."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

import condyle
from condyle import CondyleError, read_skeleton, write_skeleton
from condyle.io.skeleton_file import from_json, to_json, to_plain
from condyle.model.skeleton import Skeleton
from condyle.simulate import Disturbances, chain, simulate

NOISY = Disturbances(position_noise=0.003, orientation_noise=np.radians(0.5), missing=0.02)


@pytest.fixture(scope="module")
def skeleton() -> Skeleton:
    world = simulate(chain(("ball", "hinge", "ball")), seconds=10, rate=30, seed=2, disturbances=NOISY)
    return condyle.fit(world.take, loops=[("link0", "link3")]).skeleton


def test_a_skeleton_comes_back_exactly(skeleton: Skeleton) -> None:
    again = from_json(to_json(skeleton))
    assert to_json(again) == to_json(skeleton)
    for a, b in zip(skeleton.joints, again.joints, strict=True):
        assert (a.p_child_joint == b.p_child_joint).all()
        assert (a.covariance is None) == (b.covariance is None)
    assert again.findings == skeleton.findings
    assert again.limbs == skeleton.limbs
    assert str(again) == str(skeleton)


def test_the_file_has_the_contracts_fields_and_no_nan(skeleton: Skeleton) -> None:
    def refuse(name: str) -> float:
        raise AssertionError(f"{name} in the file")

    facts = json.loads(to_json(skeleton), parse_constant=refuse)
    assert (facts["format"], facts["version"], facts["units"]) == ("condyle.skeleton", 2, "m")
    joint = next(joint for joint in facts["joints"] if joint["kind"] == "hinge")
    assert {"child", "parent", "point", "p_child_joint", "axis_parent", "play", "margin", "coverage"} <= set(joint)
    assert {"body", "from", "to", "length", "low", "high"} <= set(facts["limbs"][0])
    assert facts["loops"][0]["time"] is not None
    assert to_plain(skeleton)["bodies"] == facts["bodies"]


def test_files_and_folders_are_read(skeleton: Skeleton, tmp_path: Path) -> None:
    write_skeleton(tmp_path / "skeleton.json", skeleton)
    assert to_json(read_skeleton(tmp_path)) == to_json(read_skeleton(tmp_path / "skeleton.json")) == to_json(skeleton)


@pytest.mark.parametrize(
    "damage",
    [
        lambda facts: facts.pop("joints"),
        lambda facts: facts.update(version=3),
        lambda facts: facts.update(format="other"),
        lambda facts: facts["joints"][0].update(kind="spring"),
        lambda facts: facts["take"].update(windows=[{"sha256": "x"}]),
        lambda facts: facts["take"].update(windows=5),
        lambda facts: facts["joints"][0].update(p_child_joint=[1, 2]),
        lambda facts: facts["joints"][0].update(child="nobody"),
        lambda facts: facts.update(surprise=1),
    ],
)
def test_a_damaged_file_is_refused_with_its_name(damage, skeleton: Skeleton, tmp_path: Path) -> None:  # type: ignore[no-untyped-def]
    facts = json.loads(to_json(skeleton))
    damage(facts)
    path = tmp_path / "skeleton.json"
    path.write_text(json.dumps(facts))
    with pytest.raises(CondyleError) as caught:
        read_skeleton(path)
    assert caught.value.code == "bad-skeleton"
    assert str(path) in str(caught.value)


def test_truncation_at_any_byte_is_refused(skeleton: Skeleton) -> None:
    data = to_json(skeleton, indent=0)
    for cut in range(0, len(data) - 1, max(1, len(data) // 200)):
        with pytest.raises(CondyleError):
            from_json(data[:cut])


def test_a_missing_file_is_told(tmp_path: Path) -> None:
    with pytest.raises(CondyleError, match=r"skeleton\.json"):
        read_skeleton(tmp_path)


@pytest.mark.parametrize(
    ("name", "value", "words"),
    [
        ("axis_child", [0.0, 0.0, 0.0], "has an axis that is not of unit length"),
        ("axis_parent", [3.0, 4.0, 0.0], "has an axis that is not of unit length"),
        ("p_child_joint", [0.0, 1e300, 0.0], "is farther away than any sensor"),
        ("p_parent_joint", [-1e13, 0.0, 0.0], "is farther away than any sensor"),
        ("axis_child", [0.0, 1e200, 0.0], "has an axis that is not of unit length"),
        ("axis_child", None, "is a hinge without its axis"),
        ("residual", 1e200, "has a length that no figure has"),
        ("travel", -1e20, "has a length that no figure has"),
        ("coverage", {"rotation": [1e308, 0.1, 0.0], "passing": None}, "turns as no joint does"),
        ("play", -1.0, "turns as no joint does"),
        ("axis_covariance", (-np.eye(6)).tolist(), "has a covariance that is none"),
    ],
)
def test_a_joint_that_cannot_be_is_refused(skeleton: Skeleton, name: str, value: object, words: str) -> None:
    plain = json.loads(to_json(skeleton))
    joint = next(one for one in plain["joints"] if one["kind"] == "hinge")
    joint[name] = value
    with pytest.raises(CondyleError, match=f"the joint of '{joint['child']}' and '{joint['parent']}' {words}") as error:
        from_json(json.dumps(plain).encode())
    assert error.value.code == "bad-skeleton"


def test_a_file_that_is_nested_without_end_or_too_large_is_refused(tmp_path: Path) -> None:
    with pytest.raises(CondyleError, match="not a skeleton that this version reads"):
        from_json(b'{"take":' + b"[" * 100_000)
    path = tmp_path / "skeleton.json"
    with path.open("wb") as stream:
        stream.truncate(2**32)
    with pytest.raises(CondyleError, match="is larger than 64 MiB"):
        read_skeleton(path)


def test_a_bom_is_passed_over_and_another_encoding_is_told(skeleton: Skeleton, tmp_path: Path) -> None:
    text = to_json(skeleton).decode()
    (tmp_path / "skeleton.json").write_text(text, encoding="utf-8-sig")
    assert to_json(read_skeleton(tmp_path)) == to_json(skeleton)
    (tmp_path / "skeleton.json").write_text(text, encoding="utf-16")
    with pytest.raises(CondyleError, match=r"skeleton\.json: is no JSON; write it anew with condyle fit -o$"):
        read_skeleton(tmp_path)
