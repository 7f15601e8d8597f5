"""What plain least squares makes of these worlds, by stacked rows and nothing of condyle's own.

The wanted figures are known for this human and linkage (45 s at 30 Hz); O'Brien et al. 2000 measured the rod's 0.7 cm.
"""

import numpy as np
import pytest

from condyle.simulate import Disturbances, human, linkage, rod, simulate
from tests.make.size import trials

EXACT_M = 1e-12
FACTOR = 1.4  # how far a figure from a few trials may be from the wanted one
TRIALS = trials(2, 6)
DEGREE = np.pi / 180


def joint_errors(world):
    """Distances [m] of the fitted from the true joint centres, child and parent sides."""
    take, truth = world.take, world.truth
    errors = []
    for k, up in enumerate(truth.parent):
        if up >= 0:
            rows = np.concatenate([take.R_world_body[:, k], -take.R_world_body[:, up]], axis=2).reshape(-1, 6)
            right = (take.p_world_body[:, up] - take.p_world_body[:, k]).reshape(-1)
            u = np.linalg.lstsq(rows, right, rcond=None)[0]
            errors += [u[:3] - truth.p_child_joint[k], u[3:] - truth.p_parent_joint[k]]
    return np.linalg.norm(errors, axis=-1)


def joint_rms(figure, motion, disturbances):
    worlds = (simulate(figure, motion, seed=seed, disturbances=disturbances) for seed in TRIALS)
    return np.sqrt(np.mean([joint_errors(world) ** 2 for world in worlds]))


@pytest.mark.parametrize("motion", ["exercise", "walk"])
@pytest.mark.parametrize("figure", [human(), linkage()])
def test_exact_data_give_exact_joints(figure, motion) -> None:
    assert joint_errors(simulate(figure, motion, seed=1)).max() < EXACT_M


@pytest.mark.sized
@pytest.mark.parametrize(
    ("figure", "motion", "disturbances", "wanted"),
    [
        (human(), "exercise", Disturbances(position_noise=0.003, orientation_noise=0.5 * DEGREE), 0.00184),
        (human(), "walk", Disturbances(position_noise=0.003, orientation_noise=0.5 * DEGREE), 0.00134),
        (linkage(), "exercise", Disturbances(position_noise=0.002, quantisation=0.004), 0.00039),
        (human(), "exercise", Disturbances(soft_tissue=0.005), 0.0140),
        (human(), "walk", Disturbances(soft_tissue=0.005), 0.0110),
        (human(), "exercise", Disturbances(non_rotary=1), 0.0044),
        (linkage(), "exercise", Disturbances(field_warp=0.0125, position_noise=0.0015), 0.0053),
    ],
    ids=["white", "white walk", "quantised linkage", "soft", "soft walk", "non-rotary", "field linkage"],
)
def test_joints_are_off_by_about_as_much_as_is_known(figure, motion, disturbances, wanted) -> None:
    assert wanted / FACTOR < joint_rms(figure, motion, disturbances) < wanted * FACTOR


@pytest.mark.sized
def test_the_rod_in_the_warped_field_has_the_spread_of_the_papers_rod() -> None:
    warped = Disturbances(field_warp=0.0125, position_noise=0.0015)
    spread = []
    for seed in trials(10, 30):
        p = rod(seed=seed, rate=10, disturbances=warped).take.p_world_body
        spread.append(np.linalg.norm(p[:, 1] - p[:, 0], axis=-1).std())
    assert np.mean(spread) == pytest.approx(0.0070, abs=0.0008)
