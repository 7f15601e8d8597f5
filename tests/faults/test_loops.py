"""Joints outside the tree: each located for itself, over the whole take or the part in which it holds."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from condyle.estimate.fitting import PLAIN, ROBUST, Estimate, fit_tree
from condyle.faults import loops
from condyle.faults.connections import Contact
from condyle.faults.loops import SOFT_MIN_GAPS, find_touching_joints, loop_joints, usual_gap
from condyle.model.options import FitOptions
from condyle.model.take import Take
from condyle.pairs.fits import fit_pairs
from condyle.pairs.sums import sum_pairs
from condyle.simulate import Disturbances, linkage, simulate

NOISE = Disturbances(position_noise=0.002, orientation_noise=np.radians(0.3))
OPTIONS = FitOptions(intervals=False)


@pytest.fixture(scope="module")
def estimate() -> Estimate:
    take = simulate(linkage(), seconds=20, rate=30, seed=11, disturbances=NOISE).take
    return fit_tree(take, [], OPTIONS, ROBUST)


def pair(take: Take, *names: str) -> tuple[int, int]:
    first, second = (take.index(name) for name in names)
    return first, second


def located(estimate: Estimate, named: list[tuple[int, int]], options: FitOptions = OPTIONS, estimator=PLAIN) -> list:
    return loop_joints(estimate.take, estimate.structure, options, estimator, named)


def test_a_named_loop_is_located_by_the_plans_own_estimator_over_the_whole_take(estimate: Estimate) -> None:
    take = estimate.take
    [loop] = located(estimate, [pair(take, "head", "l_forearm")])
    assert (loop.child, loop.parent) == ("head", "l_forearm")
    fits = fit_pairs(sum_pairs(take), np.array([pair(take, "head", "l_forearm")]))
    np.testing.assert_allclose(loop.p_child_joint, fits.p_child_joint[0], atol=1e-9)
    np.testing.assert_allclose(loop.p_parent_joint, fits.p_parent_joint[0], atol=1e-9)
    assert loop.time == (take.time[0], take.time[-1])
    assert (loop.margin, loop.runner_up) == (None, None)  # a loop stands for no edge of the tree
    [other] = located(estimate, [pair(take, "head", "l_forearm")], estimator=ROBUST)
    assert not np.allclose(other.p_child_joint, loop.p_child_joint, atol=1e-6)


def test_a_loop_has_a_covariance_where_intervals_are_asked_for(estimate: Estimate) -> None:
    named = [pair(estimate.take, "chest", "l_forearm")]
    [plain], [sure] = (located(estimate, named, FitOptions(intervals=flag)) for flag in (False, True))
    assert plain.covariance is None
    assert sure.covariance is not None


def test_loops_of_the_tree_or_named_twice_are_one_and_found_ones_follow(estimate: Estimate) -> None:
    take, structure = estimate.take, estimate.structure
    tree_edge = tuple(estimate.pairs[0].tolist())
    named = [pair(take, "head", "l_forearm"), tree_edge, pair(take, "l_forearm", "head")]
    by_itself = (np.sort(structure.fits.pairs) == sorted(pair(take, "head", "r_forearm"))).all(axis=1)
    found = replace(estimate, structure=replace(structure, loops=np.flatnonzero(by_itself)))
    made = located(found, named)
    assert [(one.child, one.parent) for one in made[:1]] == [("head", "l_forearm")]
    assert [{one.child, one.parent} for one in made] == [{"head", "l_forearm"}, {"head", "r_forearm"}]


def test_the_usual_gap_is_the_length_of_the_usual_joints_residual(estimate: Estimate) -> None:
    solution = estimate.solution
    wide = replace(solution, residual_cov=np.diag(np.tile([0.01, 0.01, 0.01], len(solution.pairs)) ** 2))
    assert usual_gap(wide) == pytest.approx(0.01 * np.sqrt(3))


CONTACT = {"start": 5.0, "end": 10.0, "first": 150, "stop": 300, "free": 0.5, "score": 9.0}


def touching(
    estimate: Estimate, monkeypatch: pytest.MonkeyPatch, usual: float, *names: str, options: FitOptions = OPTIONS
) -> tuple[list, Contact, dict]:
    """Joints at a contact of the two bodies that is given, the contact, and what was asked of the search for it."""
    asked = {}
    points = np.array([[0.1, 0.0, 0.0], [0.0, 0.2, 0.0]])
    contact = Contact(bodies=names, points=points, gap=0.001, **CONTACT)  # type: ignore[arg-type]

    def find(take, edges, usual, known, good, still):
        asked.update(edges=edges, usual=usual, known=known, still=still)
        return [contact]

    monkeypatch.setattr(loops, "find_connections", find)
    named = [pair(estimate.take, "head", "l_forearm")]
    joints, findings = find_touching_joints(estimate.take, estimate.structure, options, PLAIN, named, usual)
    assert {finding.code for finding in findings} == {"connection"}
    return joints, contact, asked


def test_a_contact_is_located_in_its_own_frames(estimate: Estimate, monkeypatch: pytest.MonkeyPatch) -> None:
    [joint], _, asked = touching(estimate, monkeypatch, 1.0, "head", "r_forearm")
    part = estimate.take.slice(150, 300)
    fits = fit_pairs(sum_pairs(part), np.array([pair(part, "head", "r_forearm")]))
    assert (joint.child, joint.parent, joint.time) == ("head", "r_forearm", (5.0, 10.0))
    np.testing.assert_allclose(joint.p_child_joint, fits.p_child_joint[0], atol=1e-9)
    assert frozenset(pair(part, "head", "l_forearm")) in asked["known"]  # what was named is not looked for
    assert (asked["usual"], asked["still"]) == (1.0, None)
    assert {frozenset(edge) for edge in asked["edges"].tolist()} == {
        frozenset(edge) for edge in estimate.pairs.tolist()
    }


def test_a_contact_that_comes_apart_many_times_as_far_binds_nothing(
    estimate: Estimate, monkeypatch: pytest.MonkeyPatch
) -> None:
    [firm], _, _ = touching(estimate, monkeypatch, 1.0, "head", "r_forearm")
    usual = firm.residual / SOFT_MIN_GAPS
    [kept], _, _ = touching(estimate, monkeypatch, 1.01 * usual, "head", "r_forearm")
    assert kept.kind == firm.kind
    [soft], contact, _ = touching(estimate, monkeypatch, 0.99 * usual, "head", "r_forearm")
    assert (soft.kind, soft.point, soft.covariance) == ("undetermined", "arbitrary", None)
    np.testing.assert_array_equal(soft.p_child_joint, contact.points[0])
    np.testing.assert_array_equal(soft.p_parent_joint, contact.points[1])
    assert soft.residual == contact.gap


def test_what_is_loose_hangs_on_what_is_not(estimate: Estimate, monkeypatch: pytest.MonkeyPatch) -> None:
    tree = estimate.structure.tree
    without = (estimate.structure.fits.pairs[tree.edges] != estimate.take.index("head")).all(axis=1)
    loose = replace(estimate, structure=replace(estimate.structure, tree=tree.at(without)))
    [joint], contact, _ = touching(loose, monkeypatch, 1e-6, "r_forearm", "head")
    assert (joint.child, joint.parent) == ("head", "r_forearm")
    np.testing.assert_array_equal(joint.p_child_joint, contact.points[1])


def test_nothing_is_looked_for_in_a_take_whose_tree_is_not_determined(
    estimate: Estimate, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(loops, "find_connections", lambda *arguments: pytest.fail("looked for"))
    still = replace(estimate.structure, determined=False)
    assert find_touching_joints(estimate.take, still, OPTIONS, PLAIN, [], 0.01) == ([], [])


def test_a_contact_holds_its_place_up_to_three_times_the_usual_gap(
    estimate: Estimate, monkeypatch: pytest.MonkeyPatch
) -> None:
    [firm], _, _ = touching(estimate, monkeypatch, 1.0, "head", "r_forearm")
    for times, kept in ((2.5, True), (3.5, False)):
        [joint], _, _ = touching(estimate, monkeypatch, firm.residual / times, "head", "r_forearm")
        assert (joint.kind == firm.kind) == kept
