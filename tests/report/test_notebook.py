from __future__ import annotations

import pytest

import condyle
from condyle.errors import UsageError
from condyle.report.notebook import plot_gaps, render_fit
from condyle.simulate import Disturbances, SensorSlip, human, simulate

SLIP = Disturbances(
    position_noise=0.001, orientation_noise=0.003, slips=(SensorSlip("l_thigh", 7.0, (0.03, 0.0, 0.0)),)
)


@pytest.fixture(scope="module")
def fit() -> condyle.Fit:
    return condyle.fit(simulate(human(), "exercise", seconds=14, seed=1, disturbances=SLIP).take, intervals=False)


def test_a_fit_shows_its_figure_beside_its_tables(fit: condyle.Fit) -> None:
    html = fit._repr_html_()
    assert html.count("<circle") == 14
    assert html.count("<table>") == 2
    assert "joints sure" in html
    assert 'aria-label="figure"' in html
    assert render_fit(fit.skeleton, None) == fit.skeleton._repr_html_()


def test_gaps_are_one_panel_a_joint_with_slips_drawn_in(fit: condyle.Fit) -> None:
    pytest.importorskip("matplotlib", reason="matplotlib is not installed (extra `notebook`)")
    assert len(fit.plot_gaps().axes) == 14
    (panel, other) = fit.plot_gaps(["l_shank", "r_foot"]).axes
    assert (len(panel.lines), len(other.lines)) == (2, 1)  # the slip is at the knee
    with pytest.raises(UsageError, match="no joint of 'tail'; there are "):
        plot_gaps(fit.skeleton, fit.take, fit.gap, ["tail"])


def test_lengths_tree_and_angles_are_drawn(fit: condyle.Fit) -> None:
    pytest.importorskip("matplotlib", reason="matplotlib is not installed (extra `notebook`)")
    for figure in (fit.plot_lengths(), fit.plot_tree(), fit.plot_angles()):
        assert figure.axes


def test_the_page_stands_in_a_frame_and_leaves_no_file(fit: condyle.Fit) -> None:
    frame = fit.page(height=300)
    html = frame._repr_html_()
    assert html.startswith('<iframe srcdoc="')
    assert 'height="300"' in html
    assert "<script" not in html  # escaped
