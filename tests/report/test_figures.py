"""Every calibrated folder has its figures: files that open, show what was measured, and never leave the folder."""

from __future__ import annotations

import struct
import sys
from pathlib import Path
from xml.etree import ElementTree

import numpy as np
import pytest

from condyle import simulate
from condyle.errors import CondyleError, UsageError
from condyle.io.motion_file import open_motion
from condyle.io.skeleton_file import read_skeleton
from condyle.model.progress import listen
from condyle.model.skeleton import Slip
from condyle.model.take import join
from condyle.report.drawing import lay_out_time
from condyle.report.figures import draw_folder, draw_gap, write_figures
from tests.make.fitted import RATE, fitted, rewritten, take

pytest.importorskip("matplotlib")

PNG = b"\x89PNG\r\n\x1a\n"
NARROW, WIDE = 400, 3000  # dots across a PNG
ROD = 0.565  # m


def test_a_folder_gets_model_tree_lengths_angles_and_the_gap_of_every_joint(noisy: Path, tmp_path: Path) -> None:
    steps: list[str] = []
    with listen(lambda step, _: steps.append(step)):
        files = write_figures(noisy, tmp_path)
    assert steps[-3:] == ["computing the angles", "drawing angles", "drawing gaps"]
    children = [joint.child for joint in read_skeleton(noisy).joints]
    gaps = [f"gap-{k:02d}-{child}" for k, child in enumerate(children, 1)]
    assert [file.stem for file in files] == ["model", "tree", "lengths", *gaps, "angles", "gaps"]
    for file in files:
        data = file.read_bytes()
        assert data.startswith(PNG)
        assert NARROW < struct.unpack(">I", data[16:20])[0] < WIDE


@pytest.mark.costly
def test_figures_lie_in_the_folder_by_default_and_the_skeleton_names_it_too(noisy: Path, tmp_path: Path) -> None:
    home = rewritten(noisy, tmp_path)
    files = write_figures(home / "skeleton.json", form="svg")
    assert {file.parent for file in files} == {home / "figures"}
    assert {file.suffix for file in files} == {".svg"}


@pytest.mark.costly
def test_an_svg_is_the_same_file_each_time_and_holds_its_words(noisy: Path, tmp_path: Path) -> None:
    once, again = (write_figures(noisy, tmp_path / name, form="svg") for name in "ab")
    for a, b in zip(once, again, strict=True):
        assert a.read_bytes() == b.read_bytes(), a.name
    words = "".join(ElementTree.parse(once[3]).getroot().itertext())
    joint = read_skeleton(noisy).joints[0]
    assert f"{joint.child} at {joint.parent}" in words
    assert f"rms {1000 * joint.residual:.3g} mm" in words


def test_the_gap_that_is_drawn_is_the_gap_that_was_measured(noisy: Path) -> None:
    name, figure = list(draw_folder(open_motion(noisy)))[3]
    assert name.startswith("gap-01-")
    left, right = figure.axes
    with np.load(noisy / "motion.npz") as archive:
        size = 1000 * np.linalg.norm(archive["gap"][:, 0].astype(np.float64), axis=1)
        counted = archive["weight"][:, 0] > 0
    lines = [line for line in left.lines if len(line.get_xdata()) == len(size)]
    np.testing.assert_allclose(lines[0].get_ydata()[counted], size[counted])
    assert np.isnan(lines[0].get_ydata()[~counted]).all()
    assert sum(bar.get_width() for bar in right.patches) == counted.sum()


def test_gaps_that_did_not_count_are_left_out_and_counted() -> None:
    gap, weight = np.zeros((60, 3)), np.ones(60)
    gap[:, 0] = 0.002
    gap[7], weight[7], gap[9] = 0.5, 0.0, np.nan  # one weighted out, one not seen
    axis = lay_out_time(np.arange(60) / RATE, np.zeros(60, np.int64))
    left, right = draw_gap(axis, gap, weight, "a", "b").axes
    assert left.get_ylim()[1] < 3
    assert sum(bar.get_width() for bar in right.patches) == 58
    assert right.get_title(loc="left") == "rms 2 mm, 1 left out"


def test_two_sensors_on_one_rod_get_their_distance_over_time(tmp_path: Path) -> None:
    rod = simulate.rod(ROD, seconds=10, rate=RATE, disturbances=simulate.Disturbances(position_noise=0.002)).take
    home = fitted(tmp_path / "fit", rod, tree=[("rod_a", "rod_b")])
    assert read_skeleton(home).joints[0].kind == "rigid"
    files = write_figures(home, form="svg")
    assert files[-2].name == "pair-rod_b-rod_a.svg"
    words = "".join(ElementTree.parse(files[-2]).getroot().itertext())
    assert "distance [mm]" in words
    assert "565" in words


def test_a_folder_without_a_tree_still_gets_its_figures(tmp_path: Path) -> None:
    still = simulate.simulate(simulate.chain(), "still", seconds=5, rate=RATE).take
    home = fitted(tmp_path / "fit", still)
    assert not read_skeleton(home).joints
    assert [file.stem for file in write_figures(home)] == ["tree", "lengths"]


def test_several_recordings_follow_one_another_on_one_axis_of_time(tmp_path: Path) -> None:
    parts = [take(seconds=5, seed=k) for k in (0, 0)]
    home = fitted(tmp_path / "fit", *parts)
    skeleton = read_skeleton(home)
    figure = dict(draw_folder(open_motion(home)))[f"gap-01-{skeleton.joints[0].child}"]
    low, high = figure.axes[0].get_xlim()
    assert high - low == pytest.approx(join(parts).frames / RATE, rel=0.02)


@pytest.mark.costly
def test_names_from_files_lead_nowhere_and_act_on_nothing(tmp_path: Path) -> None:
    names = ("../../up", "a\x00b\x1b[31m", "</svg><script>x</script>", "$\\frac{1}{2}$" + "long" * 40)
    home = fitted(tmp_path / "fit", take(seconds=3, names=names))
    for form in ("svg", "png"):
        files = write_figures(home, form=form)  # type: ignore[arg-type]
        assert {file.parent for file in files} == {home / "figures"}
        assert len({file.name for file in files}) == len(files)
    for file in (home / "figures").glob("*.svg"):
        tree = ElementTree.parse(file)  # well-formed whatever the names are
        assert not [node for node in tree.iter() if node.tag.endswith("script")]


def test_what_cannot_be_is_said(noisy: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(UsageError, match="svg, png, pdf"):
        write_figures(noisy, tmp_path, "jpg")  # type: ignore[arg-type]
    with pytest.raises(CondyleError, match="gap"):
        write_figures(rewritten(noisy, tmp_path / "none", gap=None), tmp_path)
    with np.load(noisy / "motion.npz") as archive:
        joints = archive["joints"]
    joints[0] = "other"
    with pytest.raises(CondyleError, match="holds the joints other"):
        write_figures(rewritten(noisy, tmp_path / "other", joints=joints), tmp_path)
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    with pytest.raises(CondyleError, match=r"condyle\[plot\]") as caught:
        write_figures(noisy, tmp_path / "no")
    assert caught.value.code == "missing-extra"
    assert not (tmp_path / "no").exists()


def test_a_slip_is_drawn_at_its_moment_in_the_gaps_of_its_joints() -> None:
    axis = lay_out_time(np.arange(100) / 10, np.zeros(100, np.int64))
    slip = Slip("a", 40, 4.0, np.array([0.03, 0.0, 0.0]), np.zeros(3), 1.0)
    gap, weight = np.full((100, 3), 0.001), np.ones(100)
    drawn = draw_gap(axis, gap, weight, "a", "b", slips=[slip]).axes[0]
    assert [text.get_text() for text in drawn.texts] == ["a slipped 30 mm"]
    assert drawn.texts[0].xy[0] == 4.0
    assert not draw_gap(axis, gap, weight, "c", "b", slips=[slip]).axes[0].texts
