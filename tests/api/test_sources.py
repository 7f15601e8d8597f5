"""Whatever a recording is given as, the same poses are fitted; what is none is said in a sentence."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import condyle


def lengths(fit: condyle.Fit) -> list[float | None]:
    return [limb.length for limb in fit.skeleton.limbs]


def test_a_path_several_paths_a_take_and_matrices_are_fitted_alike(fit: condyle.Fit, recording: Path) -> None:
    take = condyle.read(recording, up="z")
    T = np.tile(np.eye(4), (take.frames, take.bodies, 1, 1))
    T[..., :3, :3], T[..., :3, 3] = take.R_world_body, take.p_world_body
    assert condyle.fit(take, intervals=False).provenance.input == fit.provenance.input, "what was read is hashed"
    assert lengths(condyle.fit([recording], intervals=False)) == lengths(fit)
    np.testing.assert_allclose(lengths(condyle.fit(T, rate=30, intervals=False)), lengths(fit), atol=1e-6)
    with pytest.raises(condyle.UsageError, match="is named twice"):
        condyle.fit([recording, str(recording)])
    copy = recording.with_name(f"copy{recording.suffix}")
    copy.write_bytes(recording.read_bytes())
    with pytest.raises(condyle.UsageError, match="has the same content as"):
        condyle.fit([recording, copy])
    with pytest.raises(condyle.UsageError, match="has the same content as"):
        condyle.fit_remounted([recording, copy])
    with pytest.raises(condyle.UsageError, match="'unit' is for files"):
        condyle.fit(take, unit="mm")
    with pytest.raises(condyle.UsageError, match="'rate' is for files"):
        condyle.fit(take, rate=30)


@pytest.mark.parametrize("kind", ["lists", "arrays", "takes", "places and turns", "by name"])
def test_poses_in_a_list_are_refused_with_what_makes_a_take_of_them(kind: str) -> None:
    T = np.tile(np.eye(4), (5, 3, 1, 1))
    take = condyle.Take.from_matrices(T)
    sources = {
        "lists": T.tolist(), "arrays": [T, T], "takes": [take, take], "places and turns": (T[..., 3], T[..., 0]),
        "by name": {"a": T, "b": T},
    }  # fmt: skip
    with pytest.raises(condyle.UsageError, match=r"^poses are given as one array .* one of positions and quaternions$"):
        condyle.fit(sources[kind])


@pytest.mark.parametrize("source", [None, 5, [None]])
def test_what_is_no_recording_is_one_sentence(source: object) -> None:
    with pytest.raises(condyle.UsageError, match="a recording is"):
        condyle.fit(source)  # type: ignore[arg-type]
