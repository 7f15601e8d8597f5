"""Every disturbance has the size it claims and leaves the others alone."""

import numpy as np
import pytest

from condyle.errors import UsageError
from condyle.simulate import SensorSlip, linkage
from tests.make.disturbed import ROUNDING_M, shift_in_body, world


def test_a_slip_moves_one_sensor_from_its_moment_on() -> None:
    slip = SensorSlip("l_shank", 8.0, (0.0, 0.03, 0.0), rotation=(0.1, 0.0, 0.0))
    w = world(slips=(slip,))
    k, after = w.take.index("l_shank"), w.take.time >= 8
    shift, turn = shift_in_body(w)
    assert np.abs(shift[after, k] - slip.displacement).max() < ROUNDING_M
    assert np.abs(turn[after, k] - slip.rotation).max() < 1e-9
    assert np.abs(shift[~after]).max() == 0
    assert w.truth.slips == (slip,)


def test_two_slips_of_one_sensor_add_up() -> None:
    slips = (SensorSlip("head", 12.0, (0.02, 0, 0)), SensorSlip("head", 5.0, (0, 0.01, 0)))
    shift, _ = shift_in_body(world(slips=slips))
    assert np.abs(shift[-1, 2] - [0.02, 0.01, 0]).max() < ROUNDING_M


@pytest.mark.parametrize("motion", ["exercise", "walk"])
def test_soft_tissue_has_its_rms_and_turns_two_degrees_per_centimetre(motion) -> None:
    shift, turn = shift_in_body(world(motion, seconds=60, soft_tissue=0.005))
    length = np.sqrt((shift**2).sum(axis=-1).mean(axis=0))
    angle = np.degrees(np.sqrt((turn**2).sum(axis=-1).mean(axis=0)))
    assert np.allclose(length, 0.005, rtol=0.2)
    assert np.allclose(angle, 1.0, rtol=0.2)
    assert np.abs(shift.mean(axis=0)).max() < 1e-9


def test_soft_tissue_rests_while_nothing_moves() -> None:
    assert np.abs(shift_in_body(world("still", soft_tissue=0.01))[0]).max() < ROUNDING_M


def test_non_rotary_joints_open_by_about_a_centimetre_at_knee_and_shoulder_only() -> None:
    t = world(non_rotary=1).truth
    k = np.flatnonzero(t.parent >= 0)
    up = t.parent[k]
    child = np.einsum("nmij,mj->nmi", t.R_world_body[:, k], t.p_child_joint[k]) + t.p_world_body[:, k]
    parent = np.einsum("nmij,mj->nmi", t.R_world_body[:, up], t.p_parent_joint[k]) + t.p_world_body[:, up]
    gap = np.linalg.norm(child - parent, axis=-1).max(axis=0)
    moving = np.array([t.names[j].endswith(("shank", "upper_arm")) for j in k])
    assert gap[~moving].max() < ROUNDING_M
    assert 0.005 < gap[moving].min() < gap[moving].max() < 0.035


def test_the_pelvis_pack_wobbles_to_its_peak_and_follows_the_thighs() -> None:
    w = world("walk", pelvis_wobble=0.05)
    shift, turn = shift_in_body(w)
    assert np.linalg.norm(shift[:, 0], axis=-1).max() == pytest.approx(0.05, abs=1e-9)
    assert np.abs(shift[:, 1:]).max() == 0
    assert np.abs(turn).max() < 1e-7
    assert np.linalg.matrix_rank(shift[:, 0], tol=1e-9) == 2  # two thighs


def test_the_wobbling_body_can_be_another() -> None:
    w = world(figure=linkage(), pelvis_wobble=0.05, pelvis_wobble_body="chest")
    assert np.linalg.norm(shift_in_body(w)[0][:, 0], axis=-1).max() == pytest.approx(0.05, abs=1e-9)
    with pytest.raises(UsageError, match="no body named 'pelvis'; choose from chest, head"):
        world(figure=linkage(), pelvis_wobble=0.05)
