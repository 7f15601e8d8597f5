from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import condyle
from condyle.errors import CondyleError, import_extra
from condyle.model.html import MOST_ROWS, draw_forest, draw_sensors, render_skeleton, render_table, render_take
from condyle.model.skeleton import Question
from condyle.simulate import human, simulate

WORLD = simulate(human(), "exercise", seconds=6, seed=1)


@pytest.fixture(scope="module")
def fit() -> condyle.Fit:
    return condyle.fit(WORLD.take, intervals=False)


def test_a_long_table_says_how_many_rows_are_left_out() -> None:
    assert render_table(["a"], [[k] for k in range(MOST_ROWS)]).count("<tr>") == MOST_ROWS + 1
    assert "and 5 more" in render_table(["a"], [[k] for k in range(MOST_ROWS + 5)])


def test_names_from_files_do_not_act_on_a_notebook() -> None:
    take = replace(WORLD.take, names=("<script>", *WORLD.take.names[1:]))
    for html in (render_take(take), take._repr_html_()):
        assert "<script>" not in html
        assert "&lt;script&gt;" in html


def test_a_skeleton_shows_verdict_joints_and_lengths(fit: condyle.Fit) -> None:
    html = render_skeleton(fit.skeleton)
    assert html == fit.skeleton._repr_html_()
    assert "Found: 14 of 14 joints sure" in html
    assert "<td>432.0</td>" in html


def test_a_skeleton_shows_its_tree_and_a_take_its_sensors(fit: condyle.Fit) -> None:
    tree = draw_forest(fit.skeleton)
    assert (tree.count("<circle"), tree.count("<path"), tree.count("dasharray")) == (15, 14, 0)
    assert tree in render_skeleton(fit.skeleton)
    verdict = fit.skeleton.verdict
    assert verdict is not None
    first = fit.skeleton.joints[0]
    doubt = replace(verdict, in_question=(Question((first.parent, first.child), ()),))
    assert draw_forest(replace(fit.skeleton, verdict=doubt)).count("dasharray") == 1
    many = tuple(f"{'b' * 60}{k}" for k in range(40))
    loose = draw_forest(replace(fit.skeleton, bodies=many, roots=(), loose=many, joints=()))
    assert f"and {40 - MOST_ROWS} more" in loose
    assert int(loose.split('width="')[1].split('"')[0]) > 60 * 6  # names are not cut
    assert draw_sensors(WORLD.take).count("<circle") == 15
    assert draw_sensors(WORLD.take) in render_take(WORLD.take)
    hidden = np.full_like(WORLD.take.p_world_body, np.nan)
    hidden[40, :3] = WORLD.take.p_world_body[40, :3]
    assert draw_sensors(replace(WORLD.take, p_world_body=hidden)).count("<circle") == 3
    assert draw_sensors(replace(WORLD.take, p_world_body=np.full_like(hidden, np.nan))) == ""


def test_poses_as_tables_and_arrays_are_the_poses(fit: condyle.Fit) -> None:
    pytest.importorskip("pandas", reason="pandas is not installed (extra `notebook`)")
    table = WORLD.take.to_dataframe()
    one = table[table.body == "head"]
    np.testing.assert_array_equal(one[["x", "y", "z"]].to_numpy(), WORLD.take.select(["head"]).p_world_body[:, 0])
    limbs = fit.skeleton.to_dataframe()
    assert limbs[limbs.body == "l_thigh"].length.item() == pytest.approx(0.432, abs=1e-6)
    assert set(fit.skeleton.to_dataframe("joints").kind) == {"ball"}
    pytest.importorskip("xarray", reason="xarray is not installed (extra `notebook`)")
    poses = WORLD.take.to_xarray()
    assert poses.position.dims == ("time", "space", "keypoints", "individuals")
    assert poses.attrs["ds_type"] == "poses"
    head = poses.position.sel(keypoints="head", individuals="individual_0").to_numpy()
    np.testing.assert_array_equal(head, WORLD.take.select(["head"]).p_world_body[:, 0])


def test_a_library_that_is_missing_is_named_with_its_extra() -> None:
    with pytest.raises(CondyleError, match=r'this needs no_such_library: pip install "condyle\[notebook\]"'):
        import_extra("no_such_library", "notebook")


def test_what_many_joints_share_is_one_line() -> None:
    from dataclasses import replace

    from condyle.findings import Finding
    from tests.make import walkers

    skeleton = walkers.fitted(1, "walk", 10.0, True).skeleton
    wide = tuple(Finding("wide-interval", "warning", "", (name,), value=0.04, unit="m") for name in skeleton.bodies[:4])
    assert render_skeleton(replace(skeleton, findings=wide)).count("<li>") == 1
