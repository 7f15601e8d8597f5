"""Chains of axes: where they begin and end, which frame is their zero, and which way their axes point."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import condyle
from condyle import CondyleError, UsageError
from condyle.model.chains import find_chains, has_chains
from condyle.simulate import chain, human, simulate
from tests.make import machines


@pytest.mark.costly
def test_a_chain_begins_at_the_body_that_stands_whatever_the_root() -> None:
    for root in ("link0", "link3", None):
        found = machines.fitted("skewed", 1.0, 1, root).axes()
        assert [(one.base, one.tool, len(one.rows)) for one in found] == [("link0", "link6", 6)]
        assert found[0].T_world_base is not None


def test_base_and_tool_can_be_chosen() -> None:
    fit = machines.fitted("skewed")
    (part,) = fit.axes(base="link2", tool="link5")
    assert [row.outer for row in part.rows] == ["link3", "link4", "link5"]
    assert part.T_world_base is None
    both = fit.axes(base="link2")
    assert [(one.base, one.tool) for one in both] == [("link2", "link6"), ("link2", "link0")]


def test_the_zero_is_the_frame_that_was_asked_for() -> None:
    fit = machines.fitted("skewed")
    (one,) = fit.axes(zero=3.0)
    row = int(np.argmin(np.abs(one.time - 3.0)))
    assert one.zero_time == one.time[row]
    np.testing.assert_allclose(one.angle[row], 0.0, atol=1e-12)


def test_the_first_turn_is_positive_and_a_flip_turns_the_axis_around() -> None:
    fit = machines.fitted("skewed")
    (one,), (other,) = fit.axes(), fit.axes(flip=["link3"])
    for k in range(6):
        away = one.angle[:, k] - one.angle[0, k]
        assert away[np.argmax(np.abs(away) > 0.5 * np.abs(away).max())] > 0
    np.testing.assert_allclose(other.angle[:, 2], -one.angle[:, 2])
    np.testing.assert_allclose(other.play_modified(other.angle), one.play_modified(one.angle), atol=1e-12)


def test_joint_angles_are_those_of_the_machine() -> None:
    one = machines.made("skewed", 0.0)
    (found,) = machines.fitted("skewed", 0.0).axes()
    true = one.q - one.q[np.argmin(np.abs(found.time - found.zero_time))]
    sign = np.sign((found.angle * true).sum(axis=0))
    np.testing.assert_allclose(found.angle, sign * true, atol=1e-9)


def test_a_body_that_is_rigidly_fixed_belongs_to_the_link_before() -> None:
    world = simulate(chain(("hinge", "rigid", "hinge", "hinge")), seconds=20, seed=3)
    fit = condyle.fit(world.take, tree=[(f"link{k}", f"link{k + 1}") for k in range(4)])
    assert [joint.kind for joint in fit.skeleton.joints].count("rigid") == 1
    (found,) = fit.axes(base="link0")
    assert [row.outer for row in found.rows] == ["link1", "link3", "link4"]
    assert found.played_m is not None
    assert found.played_m < 1e-9
    end = condyle.fit(simulate(chain(("hinge", "hinge", "rigid")), seconds=20, seed=3).take)
    (last,) = end.axes(base="link0", tool="link3")
    assert last.played_m is not None
    assert last.played_m < 1e-9


def test_gaps_in_the_recording_are_gaps_in_the_angles() -> None:
    one = machines.made("skewed")
    p = one.take.p_world_body.copy()
    p[100:200, 3] = np.nan
    fit = condyle.fit(replace(one.take, p_world_body=p), tree=[tuple(sorted(e)) for e in one.edges])  # type: ignore[misc]
    (found,) = fit.axes()
    assert np.isfinite(found.angle).all(axis=1).sum() >= 900
    assert found.played_m is not None


def test_a_slower_sensor_is_among_the_frames_that_tables_are_made_from(monkeypatch: pytest.MonkeyPatch) -> None:
    take = machines.made("ur5", 0.0).take
    monkeypatch.setattr("condyle.model.chains.CHAIN_MAX_FRAMES", take.frames // 4)
    hidden = np.zeros((take.frames, take.bodies), dtype=bool)
    hidden[np.arange(take.frames) % 4 != 2, 3] = True
    slower = take.mask(hidden)
    (one,) = find_chains(condyle.fit(slower, intervals=False).skeleton, slower)
    assert len(one.rows) == 6
    assert one.played_m is not None
    assert one.played_m < 1e-6


def test_a_screw_is_played_with_the_turns_that_it_made_in_a_gap() -> None:
    one = machines.made("lead-screw")
    hidden = np.zeros(one.take.seen.shape, bool)
    hidden[400:480, 2] = True
    (chain,) = condyle.fit(one.take.mask(hidden)).axes()
    assert chain.played_m is not None
    assert chain.played_m < 0.003


def test_what_has_no_axes_or_is_named_wrongly_is_said() -> None:
    people = condyle.fit(simulate(human(), seconds=10, seed=1).take, intervals=False)
    assert not has_chains(people.skeleton)
    with pytest.raises(CondyleError, match="no joint turns about one axis"):
        people.axes()
    fit = machines.fitted("skewed")
    assert has_chains(fit.skeleton)
    with pytest.raises(UsageError, match="no body named 'hand' for the base; choose from link0"):
        fit.axes(base="hand")
    with pytest.raises(UsageError, match="base and tool are both 'link2'"):
        fit.axes(base="link2", tool="link2")
    with pytest.raises(UsageError, match="no frame at 99 s; the take is from 0 to"):
        fit.axes(zero=99)
    with pytest.raises(UsageError, match="no joint named 'elbow'"):
        fit.axes(flip=["elbow"])
    poses = (np.full_like(part, np.nan) for part in (fit.take.R_world_body, fit.take.p_world_body))
    never = replace(fit.take, **dict(zip(("R_world_body", "p_world_body"), poses, strict=True)))
    with pytest.raises(CondyleError, match="no frame has all bodies"):
        find_chains(fit.skeleton, never, base="link0")
