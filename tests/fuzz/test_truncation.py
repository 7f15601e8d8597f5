"""A file that was cut, at whatever byte, is refused, or read without what is lost, and that is told."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from condyle import CondyleError
from condyle.io.formats import ReadOptions, _import_format
from condyle.model.recording import Recording
from tests.make.size import FEWER_CUTS, MOST_CUTS

from .seeds import NAMES, target

# Variants of a format that tell where they end: a declared number of frames, a closing tag, an index at the end.
DECLARED: dict[str, set[str] | None] = {  # None: all of them
    "npz": None,
    "c3d": None,
    "csv": {"whole", "segments, an empty pose"},
    "bvh": None,
    "htr": None,
    "mvnx": None,
    "opensim": {"BodyKinematics", "SIMM"},
    "rosbag": None,
    "session_log": None,
    "parquet": None,
    "motive": None,
    "qualisys": None,
    "trc": None,
}


def declares(name: str, variant: str) -> bool:
    return name in DECLARED and (DECLARED[name] is None or variant in (DECLARED[name] or ()))


def cuts(raw: bytes, smallest: bool) -> range:
    """Lengths to cut a file to: every one, or so many of them evenly spread."""
    most = MOST_CUTS if smallest else FEWER_CUTS
    return range(1, len(raw), -(-len(raw) // most))


def arrays(recording: Recording) -> list[np.ndarray]:
    parts = [recording.time] if recording.time is not None else []
    if recording.bodies is not None:
        parts += [recording.bodies.position, recording.bodies.orientation]
    if recording.markers is not None:
        parts += [recording.markers.position]
    return parts


def names_in(recording: Recording) -> tuple[tuple[str, ...], ...]:
    return tuple(part.names for part in (recording.bodies, recording.markers) if part is not None)


def lost(found: Recording, whole: Recording) -> str:
    """What a recording lacks of the whole one, or "": a body, a frame, a sample, digits of the last frame.

    Raises where a number differs that the cut cannot have touched.
    """
    if names_in(found) != names_in(whole):
        return "bodies"
    n = found.frames
    missing = "" if n == whole.frames else "frames"
    for here, there in zip(arrays(found), arrays(whole), strict=True):
        there = there[:n]
        assert here.shape == there.shape
        differs = (here != there) & ~(np.isnan(here) & np.isnan(there))
        gone = differs & np.isnan(here)
        rows = (differs & ~gone).reshape(n, -1).any(axis=1).sum()
        assert rows <= 1
        if rows:
            missing = missing or "digits"
        if gone.any():
            missing = missing or "samples"
    return missing


def is_inside_a_row(raw: bytes, cut: int) -> bool:
    """Whether a cut parts a line of text, or takes only its end."""
    return raw[cut - 1 : cut] not in (b"\n", b"\r") and raw[cut - 2 : cut] not in (b"\n\x00", b"\x00\n")


@pytest.mark.sized
@pytest.mark.parametrize("name", NAMES)
def test_a_cut_at_any_byte_is_an_error_or_told(name: str, tmp_path: Path) -> None:
    target_ = target(name)
    for file, raw in target_.beside.items():
        (tmp_path / file).write_bytes(raw)
    options = ReadOptions.of(**{key: tmp_path / value for key, value in target_.options.items()})
    path = tmp_path / target_.main
    smallest = min(target_.seeds, key=lambda variant: len(target_.seeds[variant]))
    counted = 0
    for variant, raw in target_.seeds.items():
        path.write_bytes(raw)
        try:
            whole = _import_format(name).read(path, options)
        except CondyleError:  # an Acclaim skeleton, angles of joints: files that are told what they are
            whole = None
        for cut in cuts(raw, variant == smallest):
            path.write_bytes(raw[:cut])
            try:
                found = _import_format(name).read(path, options)
            except CondyleError:
                continue
            if not found.frames:
                continue  # the registry refuses it
            place = f"{variant}, cut at byte {cut} of {len(raw)}: {raw[:cut][-40:]!r}"
            assert whole is not None, place
            counted += 1
            told = any(finding.code == "truncated-file" for finding in found.findings)
            try:
                missing = lost(found, whole)
            except (AssertionError, ValueError) as error:
                raise AssertionError(f"{place}: other numbers than in the whole file") from error
            if declares(name, variant):  # that all frames are there is known even where the last line has no end
                assert told or missing in ("", "digits"), f"{place}: lost {missing}"
            elif is_inside_a_row(raw, cut):
                assert told or not missing, f"{place}: lost {missing}"
    assert counted or name in ("npz", "parquet", "gltf", "matlab"), "no cut file was read"


def test_formats_that_declare_their_length_are_formats() -> None:
    assert set(DECLARED) <= set(NAMES)
    for name, variants in DECLARED.items():
        assert (variants or set()) <= set(target(name).seeds)
