from __future__ import annotations

from pathlib import Path

import pytest

from condyle.errors import CondyleError
from condyle.io.landmarks_file import read_landmarks


def test_markers_and_points_are_read(tmp_path: Path) -> None:
    file = tmp_path / "landmarks.toml"
    file.write_text('[thigh_l]\nlateral = "LKNE"\nmedial = [0.021, -0.048, 1]\n')
    assert read_landmarks(file) == {"thigh_l": {"lateral": "LKNE", "medial": [0.021, -0.048, 1]}}


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", "names no segment"),
        ('lateral = "LKNE"\n', "'lateral' is no table"),
        ("[thigh_l]\nlateral = 3\n", "landmark 'lateral' of 'thigh_l' is a marker's name or three numbers"),
        ("[thigh_l]\nlateral = [1, 2, true]\n", "landmark 'lateral'"),
        ("[thigh_l\n", "expected"),
    ],
)
def test_a_fault_is_one_sentence_with_the_file(tmp_path: Path, text: str, words: str) -> None:
    file = tmp_path / "landmarks.toml"
    file.write_text(text)
    with pytest.raises(CondyleError, match=words) as caught:
        read_landmarks(file)
    assert caught.value.path == str(file)
    assert caught.value.code == "bad-landmarks"
