"""GLB rigs: nodes above and between joints, matrices, scales; the file's own content stays."""

from __future__ import annotations

import json
import struct
from pathlib import Path

import numpy as np
import pytest

from condyle import read
from condyle.errors import CondyleError
from condyle.io.exports.gltf import pack_glb
from condyle.io.rigs.glb_rig import read_glb_rig
from condyle.io.rigs.rig_file import RigClip
from condyle.maths import rotation
from tests.make.rigs import write_glb_rig

HALF = 0.5**0.5


def write_odd(path: Path, **change: object) -> Path:
    """An armature turned and scaled to centimetres, a node that is no joint between two joints, and a matrix."""
    matrix = np.eye(4)
    matrix[:3, 3] = [0.0, 20.0, 0.0]
    content = {
        "asset": {"version": "2.0"},
        "scene": 0,
        "scenes": [{"nodes": [0]}],
        "nodes": [
            {"name": "armature", "rotation": [-HALF, 0, 0, HALF], "scale": [0.01, 0.01, 0.01], "children": [4]},
            {"name": "tip", "matrix": matrix.T.ravel().tolist()},
            {"name": "between", "translation": [0, 5, 0], "rotation": [0, 0, HALF, HALF], "children": [1]},
            {"name": "middle", "translation": [0, 30, 0], "children": [2]},
            {"name": "root", "translation": [0, 0, 90], "children": [3]},
        ],
        "skins": [{"joints": [1, 3, 4]}],
        "materials": [{"name": "cloth"}],
    } | change
    path.write_bytes(pack_glb(content, b""))
    return path


def test_a_motion_comes_out_as_it_went_in(tmp_path: Path) -> None:
    rig = read_glb_rig(write_odd(tmp_path / "a.glb"))
    assert rig.names == ("root", "middle", "tip")
    np.testing.assert_allclose(rig.p_rest[0], [0.0, 0.9, 0.0], atol=1e-6)
    n = 5
    turn = rotation.from_vector(np.random.default_rng(2).normal(0, 0.4, (n, 3, 3)))
    R = turn @ rig.R_rest
    p = np.zeros((n, 3, 3))
    p[:, 0] = [[0.1 * k, 0.9, 0.2] for k in range(n)]
    for k in (1, 2):
        p[:, k] = p[:, k - 1] + R[:, k - 1] @ (rig.R_rest[k - 1].T @ (rig.p_rest[k] - rig.p_rest[k - 1]))
    (content,) = rig.render([RigClip(0, np.arange(n) / 30, R, p)])
    (tmp_path / "b.glb").write_bytes(content)
    take = read(tmp_path / "b.glb")
    rows = [take.index(name) for name in rig.names]
    np.testing.assert_allclose(take.p_world_body[:, rows], p, atol=1e-6)
    np.testing.assert_allclose(take.R_world_body[:, rows], R, atol=1e-6)
    facts = json.loads(content[20 : 20 + struct.unpack("<I", content[12:16])[0]])
    assert facts["materials"] == [{"name": "cloth"}]
    assert len(facts["animations"]) == 1


def test_a_characters_own_numbers_are_untouched(tmp_path: Path) -> None:
    rig = write_glb_rig(tmp_path / "rig.glb")
    raw = rig.read_bytes()
    size = struct.unpack("<I", raw[12:16])[0]
    own = raw[28 + size :]
    found = read_glb_rig(rig)
    still = RigClip(0, np.arange(2) / 30, np.stack([found.R_rest] * 2), np.stack([found.p_rest] * 2))
    (content,) = found.render([still])
    after = content[28 + struct.unpack("<I", content[12:16])[0] :]
    assert after.startswith(own)


@pytest.mark.parametrize(
    ("change", "text"),
    [
        ({"skins": []}, "has no skin that tells its bones"),
        ({"skins": [{"joints": [9]}]}, "names a joint that is not there"),
        ({"nodes": [{"scale": [0, 0, 0]}] * 5}, "mirrored, flat or nowhere"),
        ({"buffers": [{"byteLength": 8, "uri": "a.bin"}]}, "has its meshes in another file"),
        ({"bufferViews": [{"buffer": 0, "byteLength": 8}]}, "are not in the file"),
        ({"bufferViews": [{"buffer": 0, "byteLength": 8}], "buffers": [{"byteLength": 8}]}, "are not in the file"),
    ],
)
def test_a_file_that_is_no_rig(change: dict[str, object], text: str, tmp_path: Path) -> None:
    with pytest.raises(CondyleError, match=text):
        read_glb_rig(write_odd(tmp_path / "a.glb", **change))


@pytest.mark.parametrize(
    "extension",
    [
        {"VRMC_vrm": {"humanoid": {"humanBones": {"hips": {"node": 4}, "spine": {"node": 3}}}}},
        {"VRM": {"humanoid": {"humanBones": [{"bone": "hips", "node": 4}, {"bone": "spine", "node": 3}]}}},
    ],
)
def test_an_avatars_bones_are_known_as_vrm_says(extension: dict[str, object], tmp_path: Path) -> None:
    rig = read_glb_rig(write_odd(tmp_path / "a.vrm", extensions=extension))
    assert rig.names == ("root", "middle", "tip")
    assert rig.known_as == ("hips", "spine", "tip")


@pytest.mark.parametrize("extension", [[], {"VRM": 3}, {"VRMC_vrm": {"humanoid": {"humanBones": {"hips": 4}}}}])
def test_a_damaged_avatar_is_a_rig_by_its_names(extension: object, tmp_path: Path) -> None:
    assert read_glb_rig(write_odd(tmp_path / "a.vrm", extensions=extension)).known_as == ("root", "middle", "tip")
