"""profile.json: back and forth, and nothing else is read."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from condyle.errors import CondyleError
from condyle.io import profile_file
from condyle.io.profile_file import from_json, read_profile, to_json, write_profile
from tests.model.test_profile import PROFILE


def test_a_profile_comes_back_as_it_was(tmp_path: Path) -> None:
    write_profile(tmp_path / "p.json", PROFILE)
    assert read_profile(tmp_path / "p.json") == PROFILE


def test_a_profile_without_recordings_is_read() -> None:
    plain = json.loads(to_json(PROFILE))
    del plain["recordings"], plain["windows"], plain["lengths"][0]["axes"]
    assert from_json(json.dumps(plain).encode()) == PROFILE


@pytest.mark.parametrize(
    "change",
    [
        {"format": "condyle.skeleton"},
        {"version": 2},
        {"more": 1},
        {"covariance": [["x"]]},
        {"covariance": [[-1.0]]},
        {"bodies": ["a", "a", "b"]},
        {"mountings": 1.5},
    ],
)
def test_a_damaged_profile_is_one_sentence_with_its_file(change: dict[str, object], tmp_path: Path) -> None:
    path = tmp_path / "p.json"
    path.write_text(json.dumps({**json.loads(to_json(PROFILE)), **change}))
    with pytest.raises(CondyleError, match=r"p\.json.*not a profile that this version reads") as caught:
        read_profile(path)
    assert caught.value.code == "bad-profile"


def test_every_cut_is_refused() -> None:
    data = to_json(PROFILE)
    for end in range(0, len(data) - 2, 7):
        with pytest.raises(CondyleError):
            from_json(data[:end])


def test_depth_and_size_are_bounded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(CondyleError, match="not a profile"):
        from_json(b"[" * 100_000)
    monkeypatch.setattr(profile_file, "PROFILE_FILE_MOST_BYTES", 100)
    write_profile(tmp_path / "p.json", PROFILE)
    with pytest.raises(CondyleError):
        read_profile(tmp_path / "p.json")
    with pytest.raises(CondyleError):
        read_profile(tmp_path / "nothing.json")


def test_a_folder_is_told_with_the_way_out(tmp_path: Path) -> None:
    with pytest.raises(CondyleError, match="is a folder, not a profile; make one of it with condyle profile"):
        read_profile(tmp_path)
