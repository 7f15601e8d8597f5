from __future__ import annotations

import json
import struct
from copy import deepcopy
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy.spatial.transform import Rotation, Slerp

from condyle.errors import CondyleError
from condyle.io.formats import identify, read_recording
from condyle.io.formats.gltf import looks_like
from condyle.prepare.read import read
from tests.make.size import cut_lengths

EXACT = 1e-6  # m and matrix entries: the files are in single precision

TIME = np.array([0, 0.1, 0.2, 0.3], np.float32)
TURNS = {
    1: Rotation.from_rotvec(np.outer(np.arange(4), [0.1, 0.2, -0.3])),
    2: Rotation.from_rotvec(np.outer(np.arange(4) ** 2, [0.0, 0.1, 0.05])),
}
PLACE = np.array([[0, 1, 0], [0.1, 1, 0], [0.2, 1.1, 0], [0.3, 1.1, 0.1]], np.float32)
NODES: list[dict[str, Any]] = [
    {"name": "Armature", "children": [1]},
    {"name": "hips", "children": [2], "translation": [0, 1, 0]},
    {"name": "thigh", "children": [3], "translation": [0.1, -0.1, 0]},
    {"name": "toe", "translation": [0, -0.4, 0.1]},
]


class Glb:
    """A file in the making: accessors are added, then all is packed."""

    def __init__(self, nodes: list[dict[str, Any]] | None = None) -> None:
        self.data = b""
        self.content: dict[str, Any] = {
            "asset": {"version": "2.0", "generator": "tests"},
            "nodes": deepcopy(NODES) if nodes is None else nodes,
            "skins": [{"joints": [1, 2, 3]}],
            "animations": [],
            "accessors": [],
            "bufferViews": [],
        }

    def add(self, values: np.ndarray, kind: str, component: int = 5126, **more: Any) -> int:
        raw = np.ascontiguousarray(values)
        self.content["bufferViews"].append({"buffer": 0, "byteOffset": len(self.data), "byteLength": raw.nbytes})
        view = len(self.content["bufferViews"]) - 1
        self.content["accessors"].append(
            {"bufferView": view, "componentType": component, "count": len(raw), "type": kind, **more}
        )
        self.data += raw.tobytes() + b"\x00" * (-raw.nbytes % 4)
        return view

    def animate(self, *channels: tuple[int, str, np.ndarray, np.ndarray, str]) -> Glb:
        """(node, path, time, values, interpolation) each."""
        animation: dict[str, Any] = {"name": "walk", "channels": [], "samplers": []}
        for node, path, time, values, way in channels:
            kind = "VEC4" if path == "rotation" else "VEC3"
            sampler = {"input": self.add(time, "SCALAR"), "output": self.add(values, kind), "interpolation": way}
            animation["channels"].append(
                {"sampler": len(animation["samplers"]), "target": {"node": node, "path": path}}
            )
            animation["samplers"].append(sampler)
        self.content["animations"].append(animation)
        return self

    def packed(self) -> bytes:
        content = {**self.content, "buffers": [{"byteLength": len(self.data)}]}
        text = json.dumps(content).encode()
        text += b" " * (-len(text) % 4)
        size = 12 + 8 + len(text) + 8 + len(self.data)
        head = b"glTF" + struct.pack("<II", 2, size) + struct.pack("<I", len(text)) + b"JSON"
        return head + text + struct.pack("<I", len(self.data)) + b"BIN\x00" + self.data


def _turn(node: int) -> np.ndarray:
    return TURNS[node].as_quat().astype(np.float32)


def _usual() -> Glb:
    return Glb().animate(
        (1, "translation", TIME, PLACE, "LINEAR"),
        (1, "rotation", TIME, _turn(1), "LINEAR"),
        (2, "rotation", TIME, _turn(2), "LINEAR"),
    )


def _uneven() -> Glb:
    """Every channel with keys of its own, one of them in steps."""
    return Glb().animate(
        (1, "translation", TIME[[0, 3]], PLACE[[0, 3]], "LINEAR"),
        (1, "rotation", TIME, _turn(1), "LINEAR"),
        (2, "rotation", TIME[[0, 2]], _turn(2)[[0, 2]], "STEP"),
    )


def _short_numbers() -> Glb:
    glb = _usual()
    whole = np.round(_turn(2) * 32767).astype(np.int16)
    glb.content["animations"][0]["samplers"][2]["output"] = glb.add(whole, "VEC4", 5122, normalized=True)
    return glb


SMALL: dict[str, bytes] = {
    "plain": _usual().packed(),
    "keys of their own": _uneven().packed(),
    "two animations": _usual().animate((2, "rotation", TIME, _turn(2), "LINEAR")).packed(),
    "short numbers": _short_numbers().packed(),
}


def _write(folder: Path, glb: Glb | bytes) -> Path:
    path = folder / "clip.glb"
    path.write_bytes(glb if isinstance(glb, bytes) else glb.packed())
    return path


def _chain(frame: int) -> tuple[np.ndarray, np.ndarray]:
    """Poses of hips, thigh and toe in one frame, by hand."""
    hips, thigh = TURNS[1][frame].as_matrix(), TURNS[2][frame].as_matrix()
    R = np.stack([hips, hips @ thigh, hips @ thigh])
    p = [PLACE[frame].astype(float)]
    p.append(p[0] + hips @ [0.1, -0.1, 0])
    p.append(p[1] + hips @ thigh @ [0, -0.4, 0.1])
    return R, np.stack(p)


def test_joints_stand_where_their_turns_and_places_put_them(tmp_path: Path) -> None:
    take = read(_write(tmp_path, _usual()))
    assert take.names == ("hips", "thigh", "toe")
    np.testing.assert_allclose(take.time, TIME, atol=EXACT)
    for frame in range(4):
        R, p = _chain(frame)
        np.testing.assert_allclose(take.R_world_body[frame], R, atol=EXACT)
        np.testing.assert_allclose(take.p_world_body[frame], p, atol=EXACT)


def test_the_file_says_metres_and_y_up_and_brings_its_skeleton_along(tmp_path: Path) -> None:
    path = _write(tmp_path, _usual())
    recording = read_recording(path)
    assert identify(path).name == "gltf"
    assert recording.solved_by == "tests"
    assert recording.convention.unit == "m"
    assert {"unit", "up", "handed"} <= recording.convention.stated
    take = read(path)
    assert take.up == "y"
    assert take.own is not None
    assert take.own.parent.tolist() == [-1, 0, 1]
    np.testing.assert_allclose(take.own.p_parent_joint, [[0, 0, 0], [0.1, -0.1, 0], [0, -0.4, 0.1]], atol=EXACT)
    assert {finding.code for finding in take.findings} == {"solved-poses"}


def test_channels_with_keys_of_their_own_meet_on_one_clock(tmp_path: Path) -> None:
    take = read(_write(tmp_path, _uneven()))
    np.testing.assert_allclose(take.time, TIME, atol=EXACT)
    np.testing.assert_allclose(take.p_world_body[1, 0], PLACE[0] + (PLACE[3] - PLACE[0]) / 3, atol=EXACT)
    held = take.R_world_body[:, 0].swapaxes(-1, -2) @ take.R_world_body[:, 1]
    for frame, key in ((0, 0), (1, 0), (2, 2), (3, 2)):
        np.testing.assert_allclose(held[frame], TURNS[2][key].as_matrix(), atol=EXACT)


def test_between_keys_rotations_go_along_the_shortest_arc(tmp_path: Path) -> None:
    fine = np.linspace(0, 0.3, 13, dtype=np.float32)
    glb = Glb().animate(
        (1, "rotation", TIME, -_turn(1), "LINEAR"), (3, "rotation", fine, np.tile(_turn(1)[:1], (13, 1)), "LINEAR")
    )
    take = read(_write(tmp_path, glb))
    expected = Slerp(TIME.astype(float), TURNS[1])(np.clip(take.time, 0, float(TIME[-1]))).as_matrix()
    np.testing.assert_allclose(take.R_world_body[:, 0], expected, atol=EXACT)


def test_cubic_splines_are_read_at_their_keys(tmp_path: Path) -> None:
    values = np.zeros((4, 3, 3), np.float32)
    values[:, 1] = PLACE
    glb = Glb().animate(
        (1, "translation", TIME, values.reshape(12, 3), "CUBICSPLINE"), (2, "rotation", TIME, _turn(2), "LINEAR")
    )
    np.testing.assert_allclose(read(_write(tmp_path, glb)).p_world_body[:, 0], PLACE, atol=EXACT)


def test_every_animation_is_a_segment(tmp_path: Path) -> None:
    take = read(_write(tmp_path, SMALL["two animations"]))
    assert take.segment.tolist() == [0] * 4 + [1] * 4
    np.testing.assert_allclose(take.time[4:], TIME, atol=EXACT)
    np.testing.assert_allclose(take.p_world_body[4:, 0], np.tile([0, 1, 0], (4, 1)), atol=EXACT)


def test_short_integers_stand_for_fractions(tmp_path: Path) -> None:
    exact, short = read(_write(tmp_path, _usual())), read(_write(tmp_path, SMALL["short numbers"]))
    np.testing.assert_allclose(short.R_world_body, exact.R_world_body, atol=1e-4)


def test_a_scaled_armature_scales_lengths_and_not_rotations(tmp_path: Path) -> None:
    glb = _usual()
    glb.content["nodes"][0] |= {"scale": [0.01, 0.01, 0.01], "rotation": [np.sqrt(0.5), 0, 0, np.sqrt(0.5)]}
    take = read(_write(tmp_path, glb))
    quarter = Rotation.from_euler("x", 90, degrees=True).as_matrix()
    R, p = _chain(2)
    np.testing.assert_allclose(take.p_world_body[2], 0.01 * p @ quarter.T, atol=EXACT)
    np.testing.assert_allclose(take.R_world_body[2], quarter @ R, atol=EXACT)
    np.testing.assert_allclose(take.own.p_parent_joint[1], [0.001, -0.001, 0], atol=EXACT)  # type: ignore[union-attr]


def test_a_node_with_a_matrix_stands_where_it_says(tmp_path: Path) -> None:
    glb = _usual()
    M = np.eye(4)
    M[:3, 3] = [5, 6, 7]
    glb.content["nodes"][0]["matrix"] = M.T.ravel().tolist()
    np.testing.assert_allclose(read(_write(tmp_path, glb)).p_world_body[0, 0], [5, 7, 7], atol=EXACT)


def test_without_a_skin_the_animated_nodes_are_the_bodies(tmp_path: Path) -> None:
    glb = _usual()
    del glb.content["skins"]
    assert read(_write(tmp_path, glb)).names == ("hips", "thigh")


def test_names_that_are_missing_or_twice_there_are_made_up(tmp_path: Path) -> None:
    glb = _usual()
    glb.content["nodes"][2]["name"] = "hips"
    del glb.content["nodes"][3]["name"]
    take = read(_write(tmp_path, glb))
    assert take.names == ("hips", "hips_2", "node3")
    assert "renamed-bodies" in {finding.code for finding in take.findings}


def test_a_joint_that_is_another_ones_double_is_no_body(tmp_path: Path) -> None:
    glb = _usual()
    glb.content["nodes"][3]["translation"] = [0, 0, 0]
    take = read(_write(tmp_path, glb))
    assert take.names == ("hips", "thigh")
    assert "same-body" in {finding.code for finding in take.findings}


def _without(*keys: str) -> Glb:
    glb = _usual()
    for key in keys:
        del glb.content[key]
    return glb


def _changed(**changes: Any) -> Glb:
    glb = _usual()
    glb.content |= changes
    return glb


def _accessor(number: int, **changes: Any) -> Glb:
    glb = _usual()
    glb.content["accessors"][number] |= changes
    return glb


BROKEN = {
    "no animation": (_without("animations"), "no-data", "holds no skeleton with an animation"),
    "a circle": (_changed(nodes=[{"children": [1]}, {"children": [0]}, {}, {}]), "bad-header", "in a circle"),
    "two parents": (_changed(nodes=[{"children": [2]}, {"children": [2]}, {}, {}]), "damaged-file", "no tree"),
    "a child too many": (_changed(nodes=[{"children": [9]}, {}, {}, {}]), "damaged-file", "no tree"),
    "a joint too many": (_changed(skins=[{"joints": [1, 77]}]), "damaged-file", "a joint that is not there"),
    "compressed": (_changed(extensionsRequired=["EXT_meshopt_compression"]), "bad-header", "without compression"),
    "numbers outside": (_accessor(1, count=5000), "damaged-file", "outside the file"),
    "a count below zero": (_accessor(1, count=-1), "damaged-file", "outside the file"),
    "keys without values": (_accessor(1, count=3), "damaged-file", "do not match"),
    "no numbers": (_accessor(1, bufferView=None), "bad-header", "plain arrays"),
    "another type": (_accessor(1, componentType=7), "damaged-file", "no type of number 7"),
    "another shape": (_accessor(1, type="VEC4"), "bad-header", "plain arrays"),
    "words for numbers": (_accessor(1, count="many"), "damaged-file", "not that of a glTF file"),
    "a short matrix": (_changed(nodes=[{"matrix": [1], "children": [1]}, {}, {}, {}]), "damaged-file", "not 16"),
}


@pytest.mark.parametrize("fault", BROKEN)
def test_a_broken_file_is_one_sentence(fault: str, tmp_path: Path) -> None:
    glb, code, words = BROKEN[fault]
    with pytest.raises(CondyleError, match=words) as error:
        read_recording(_write(tmp_path, glb))
    assert error.value.code == code


def test_an_older_version_is_refused(tmp_path: Path) -> None:
    raw = SMALL["plain"]
    with pytest.raises(CondyleError, match="version 1"):
        read_recording(_write(tmp_path, raw[:4] + struct.pack("<I", 1) + raw[8:]))


@pytest.mark.sized
def test_a_file_cut_at_any_byte_is_told(tmp_path: Path) -> None:
    raw = SMALL["plain"]
    for size in cut_lengths(raw):
        with pytest.raises(CondyleError):
            read_recording(_write(tmp_path, raw[:size]))


def test_numbers_that_are_none_leave_the_pose_out(tmp_path: Path) -> None:
    place = PLACE.copy()
    place[2] = np.nan
    glb = Glb().animate((1, "translation", TIME, place, "LINEAR"), (2, "rotation", TIME, _turn(2), "LINEAR"))
    take = read(_write(tmp_path, glb))
    assert take.seen.all(axis=1).tolist() == [True, True, False, True]


def test_only_files_with_the_magic_word_are_claimed() -> None:
    assert looks_like(SMALL["plain"])
    assert not looks_like(b"")
    assert not looks_like(b'{"asset": {"version": "2.0"}}')
