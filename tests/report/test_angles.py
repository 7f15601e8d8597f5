from __future__ import annotations

import base64
from pathlib import Path

import numpy as np
import pytest

from condyle.errors import CondyleError
from condyle.io.motion_file import open_motion
from condyle.model.angles import AngleColumn
from condyle.report.angles import ANGLE_SHOWN_FRAMES, name_panel, plot_angles, show_angles
from condyle.report.page_data import NO_ANGLE
from condyle.report.shown import choose_packing
from tests.make import fitted, walkers


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("page") / "fit"
    walkers.fitted(1, "walk", 10.0, True).save(out, report=False)
    return out


def test_the_page_has_the_angles_of_the_fit_to_a_twentieth_of_a_degree(folder: Path) -> None:
    fit = walkers.fitted(1, "walk", 10.0, True)
    shown = show_angles(fit.skeleton, choose_packing(open_motion(folder, fit.skeleton)), "z")
    assert shown is not None
    angles = fit.angles(up="z")
    assert tuple(column.name for column in shown.columns) == angles.names
    for k, column in enumerate(shown.columns):
        packed = np.frombuffer(base64.b64decode(column.values), "<i2")
        values = np.where(packed == NO_ANGLE, np.nan, packed * np.degrees(shown.step))
        np.testing.assert_allclose(values, np.degrees(angles.values[:, k]), atol=0.026)
        assert fit.skeleton.bodies[column.body] == angles.columns[k].child
        assert column.high == pytest.approx(np.nanmax(angles.values[:, k]), abs=1e-6)
    assert {column.panel for column in shown.columns} >= {"knee flexion", "shoulder rotation total", "pelvis tilt"}
    assert "do not compare" in shown.note
    assert ("thigh_l", "Y: joint to joint; Z: functional axis of the knee") in shown.made


def test_a_long_take_is_thinned(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("condyle.report.angles.ANGLE_SHOWN_FRAMES", 100)
    fit = walkers.fitted(1, "walk", 10.0, True)
    shown = show_angles(fit.skeleton, choose_packing(open_motion(folder, fit.skeleton)), "z")
    assert shown is not None
    assert len(base64.b64decode(shown.columns[0].values)) == 2 * 100
    assert ANGLE_SHOWN_FRAMES > 1000


def test_a_chain_has_rotation_vectors_and_a_loose_body_nothing(tmp_path: Path) -> None:
    place = fitted.fitted(tmp_path / "chain", fitted.take(5.0))
    skeleton = open_motion(place).skeleton
    shown = show_angles(skeleton, choose_packing(open_motion(place, skeleton)), None)
    assert shown is not None
    assert all(column.side == "" for column in shown.columns)


def test_a_panel_is_named_after_both_sides() -> None:
    assert name_panel(AngleColumn("knee_flexion_l", "knee", "l", "knee_l", "shank", "thigh")) == "knee flexion"
    assert name_panel(AngleColumn("pelvis_tilt", "pelvis", "", "pelvis", "pelvis", None)) == "pelvis tilt"


@pytest.mark.costly
def test_angles_are_drawn_left_and_right_in_one_plot() -> None:
    pytest.importorskip("matplotlib")
    angles = walkers.fitted(1, "walk", 10.0, True).angles()
    figure = plot_angles(angles, ("knee flexion", "pelvis tilt"))
    drawn = {axes.get_title(loc="left"): axes for axes in figure.axes if axes.get_title(loc="left")}
    assert set(drawn) == {"knee flexion", "pelvis tilt"}
    lines = [line for line in drawn["knee flexion"].lines if len(line.get_xdata()) == len(angles.time)]
    assert len(lines) == 2
    np.testing.assert_allclose(lines[0].get_ydata(), angles["knee_flexion_l"])
    assert len(plot_angles(angles).axes) >= len({name_panel(column) for column in angles.columns})


def test_an_angle_that_there_is_not_is_not_drawn_as_nothing() -> None:
    angles = walkers.fitted(1, "walk", 10.0, True).angles()
    with pytest.raises(CondyleError, match="no angle 'knee flexon' to plot"):
        plot_angles(angles, ["knee flexon"])
