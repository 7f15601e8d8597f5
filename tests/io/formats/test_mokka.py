"""Text exports of Mokka and BTK, with and without events, other points and analog channels."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from condyle.errors import CondyleError
from condyle.io.format import ReadOptions
from condyle.io.formats import mokka
from condyle.model.recording import Recording

COUNT = 4  # frames
MARKERS = ("LASI", "RASI", "SACR")


def export(
    separator: str = ",", *, events: bool = False, others: bool = False, analog: bool = False, unit: str = "mm"
) -> str:
    """What BTK's writer makes of three markers in frames 11 to 14."""
    points = [*((name, unit) for name in MARKERS), *((("LHipAngles", "deg"), ("GRF1", "N")) if others else ())]
    rows = [
        ["Frame number", str(COUNT)],
        ["First frame", "11"],
        ["Point frequency", "200"],
        ["Analog frequency", "1000"],
        [],
    ]
    if events:
        rows += [["Left_Foot Strike", "0.055", "0.07"], ["Right_Foot Off", "0.06"], []]
    rows += [
        ["Time", *(cell for name, _ in points for cell in (name, "", ""))],
        ["s", *(unit for _, unit in points for _ in range(3))],
        ["", *(axis for _ in points for axis in "XYZ")],
    ]
    rows += [[f"{(10 + k) / 200}", *(f"{100 * j + k}.5" for j in range(3 * len(points)))] for k in range(COUNT)]
    if analog:
        rows += [[], ["Time", "Fz1"], ["s", "N"], *([f"{k / 1000}", "700"] for k in range(5 * COUNT))]
    return "\n".join(separator.join(row) for row in rows) + "\n"


SMALL: dict[str, bytes] = {
    "plain": export().encode(),
    "whole": export("\t", events=True, others=True, analog=True).encode(),
}


def read(tmp_path: Path, text: str) -> Recording:
    path = tmp_path / "walk.csv"
    path.write_text(text)
    assert mokka.looks_like(text.encode())
    return mokka.read(path, ReadOptions())


@pytest.mark.parametrize("separator", [",", ";", "\t"])
@pytest.mark.parametrize("events", [False, True])
@pytest.mark.parametrize("others", [False, True])
@pytest.mark.parametrize("analog", [False, True])
def test_markers_are_read_whatever_stands_around_them(tmp_path, separator, events, others, analog) -> None:
    found = read(tmp_path, export(separator, events=events, others=others, analog=analog))
    assert found.markers is not None
    assert found.markers.names == MARKERS
    assert found.markers.position[2, 1].tolist() == [302.5, 402.5, 502.5]
    assert found.rate == 200
    assert found.time is not None
    np.testing.assert_allclose(found.time, [0.05, 0.055, 0.06, 0.065])
    assert (found.convention.unit, found.convention.stated) == ("mm", {"unit"})
    assert ("left out" in found.facts) == others


def test_a_marker_at_zero_was_not_seen(tmp_path) -> None:
    text = export().replace("300.5,400.5,500.5", "0,0,0")
    markers = read(tmp_path, text).markers
    assert markers is not None
    assert np.isnan(markers.position[0, 1]).all()
    assert np.isfinite(markers.position[1:]).all()


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (lambda text: text[: text.index("Time")], "ends before the names"),
        (lambda text: text.replace("mm", "deg"), "unit of length"),
        (lambda text: text.replace("RASI", "LASI"), "second marker 'LASI'"),
        (lambda text: text.replace("mm", "m", 3), "export them in one unit"),
        (lambda text: text.replace("101.5", "x"), "x"),
    ],
)
def test_faults_are_told_in_a_sentence(tmp_path, change, words) -> None:
    with pytest.raises(CondyleError, match=words):
        read(tmp_path, change(export()))


def test_frames_that_are_missing_at_the_end_are_told(tmp_path) -> None:
    found = read(tmp_path, "\n".join(export().split("\n")[:-2]) + "\n")
    assert [finding.code for finding in found.findings] == ["truncated-file"]


@pytest.mark.parametrize("head", [b"", b"Frame number,3\n", b"Time,LASI,,\ns,mm,mm,mm\n,X,Y,Z\n0,1,2,3\n"])
def test_other_tables_are_left_to_others(head) -> None:
    assert not mokka.looks_like(head)
