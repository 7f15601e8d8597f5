"""Rigs by their content, maps by their lines."""

from __future__ import annotations

from pathlib import Path

import pytest

from condyle.errors import CondyleError
from condyle.io.rigs.read_rig import read_bone_map, read_rig
from tests.make.rigs import BONES, write_bvh_rig, write_glb_rig


def test_the_format_is_known_by_the_content(tmp_path: Path) -> None:
    write_bvh_rig(tmp_path / "rig.bvh").rename(tmp_path / "rig.txt")
    assert set(read_rig(tmp_path / "rig.txt").names) == {f"mixamorig:{name}" for name in BONES}
    assert "mixamorig:Hips" in read_rig(write_glb_rig(tmp_path / "rig.glb")).names


@pytest.mark.parametrize(
    ("content", "text"),
    [
        (b"", "is neither BVH nor GLB; export the rig as one of them"),
        (b"Kaydara FBX Binary", "is neither BVH nor GLB"),
        (b"glTF", "the file is cut within its header"),
        (b"HIERARCHY\nROOT a\n{\nOFFSET 0 0 0\n", "ends inside a joint"),
        (
            b"HIERARCHY\nROOT a\n{\nOFFSET 0 0 0\nCHANNELS 1 Xrotation\n}\n",
            "'a' turns about X; a rig's joints turn about",
        ),
    ],
)
def test_a_rig_that_is_none_is_one_sentence_with_its_file(content: bytes, text: str, tmp_path: Path) -> None:
    (tmp_path / "rig.bvh").write_bytes(content)
    with pytest.raises(CondyleError, match=text) as error:
        read_rig(tmp_path / "rig.bvh")
    assert str(error.value).startswith(str(tmp_path / "rig.bvh"))


def test_a_rig_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(CondyleError, match="cannot be read"):
        read_rig(tmp_path / "rig.bvh")


@pytest.mark.parametrize(
    ("content", "text"),
    [
        ("", "names no bone; expected"),
        ("[bones]\n", "names no bone; expected"),
        ("[bones]\na = 1\n", "'a' takes the name of a body"),
        ("[bones]\na.b = 'pelvis'\n", "names with dots stand in quotes"),
        ("x = 1\n[bones]\na = 'pelvis'\n", "'x' is not in the table"),
        ("[bones\n", "line 1.*is no TOML"),
    ],
)
def test_a_map_that_is_none_is_one_sentence(content: str, text: str, tmp_path: Path) -> None:
    (tmp_path / "map.toml").write_text(content)
    with pytest.raises(CondyleError, match=text):
        read_bone_map(tmp_path / "map.toml")


def test_a_map_has_bones_and_bodies(tmp_path: Path) -> None:
    (tmp_path / "map.toml").write_text('[bones]\n"mixamorig:Hips" = "pelvis"\nTail = ""\n')
    assert read_bone_map(tmp_path / "map.toml") == {"mixamorig:Hips": "pelvis", "Tail": ""}
