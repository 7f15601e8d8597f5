"""The elimination against the same normal equations formed whole and solved by numpy."""

from __future__ import annotations

import numpy as np
import pytest

from condyle.maths.elimination import DAMPING_ARM_M, Factors, KinematicRig, inverse_symmetric
from condyle.model.motion import find_reference
from condyle.motion.rig import build_rig
from tests.make import jointed

SAME = 1e-8  # relative, of steps that solve the same equations


def jacobian(rig: KinematicRig, lever: np.ndarray, axis: np.ndarray) -> list[tuple[np.ndarray, np.ndarray]]:
    """Of one frame: how (x, t) of every body follow from all freedoms: a free body's six, a ball's three, a hinge's."""
    sizes = {"free": 6, "ball": 3, "hinge": 1, "rigid": 0}
    freedom = [group.freedom for group in rig.groups for _ in range(group.own.stop - group.own.start)]
    starts = np.cumsum([0, *(sizes[word] for word in freedom)])
    bodies: list[tuple[np.ndarray, np.ndarray]] = []
    for row, word in enumerate(freedom):
        x, t = np.zeros((2, 3, starts[-1]))
        if word == "free":
            x[:, starts[row] : starts[row] + 3] = t[:, starts[row] + 3 : starts[row] + 6] = np.eye(3)
        else:
            px, pt = bodies[rig.parent[row]]
            r = lever[row]
            x = px + np.cross(pt.T, r).T
            if word == "ball":
                t[:, starts[row] : starts[row] + 3] = np.eye(3)
            else:
                t = pt.copy()
            if word == "hinge":
                t[:, starts[row]] = axis[row]
        bodies.append((x, t))
    return bodies


@pytest.mark.parametrize("springs", [False, True])
def test_steps_solve_the_whole_normal_equations(rng: np.random.Generator, springs: bool) -> None:
    skeleton = jointed.figure(rng, 10, 2, 1, jointed.KINDS)
    m, n = len(skeleton.bodies), 4
    rig = build_rig(skeleton, find_reference(skeleton, jointed.motion(rng, skeleton).R_parent_body))
    lever, arm, axis = rng.uniform(-1, 1, (3, m, 3, n))
    axis /= np.linalg.norm(axis, axis=1, keepdims=True)
    wp, wr, k = rng.uniform(0.5, 2, (3, m, n))
    k[rig.parent < 0] = 0.0
    damping = rng.uniform(0, 0.1, n)
    gx, gt, gs = rng.standard_normal((3, m, 3, n))
    gs[rig.parent < 0] = 0.0
    factors = Factors(rig, lever, arm, axis, wp, wr, damping, k if springs else None)
    x, t, s, gain = factors.solve(gx, gt, gs if springs else None)
    freedom = [group.freedom for group in rig.groups for _ in range(group.own.stop - group.own.start)]
    for f in range(n):
        bodies = jacobian(rig, lever[..., f], axis[..., f])
        size = bodies[0][0].shape[1]
        H, g = np.zeros((size, size)), np.zeros(size)
        at = 0
        for row, (bx, bt) in enumerate(bodies):
            place = bx + np.cross(bt.T, arm[row, :, f]).T
            H += wp[row, f] * place.T @ place + wr[row, f] * bt.T @ bt
            g += gx[row, :, f] @ place + gt[row, :, f] @ bt
            if springs and rig.parent[row] >= 0 and freedom[row] != "rigid":
                against = bt - bodies[rig.parent[row]][1]
                H += k[row, f] * against.T @ against
                g += gs[row, :, f] @ against
            held = {"free": [1 / DAMPING_ARM_M**2] * 3 + [1.0] * 3, "ball": [1.0] * 3, "hinge": [1.0], "rigid": []}[
                freedom[row]
            ]
            for weight in held:
                H[at, at] += damping[f] * weight
                at += 1
        u = -np.linalg.solve(H, g)
        np.testing.assert_allclose(x[..., f], [bx @ u for bx, _ in bodies], rtol=SAME, atol=SAME)
        np.testing.assert_allclose(t[..., f], [bt @ u for _, bt in bodies], rtol=SAME, atol=SAME)
        assert gain[f] == pytest.approx(-0.5 * g @ u, rel=SAME)
    assert s is not None


def test_symmetric_matrices_are_inverted(rng: np.random.Generator) -> None:
    A = rng.standard_normal((5, 3, 3, 7))
    H = np.einsum("gijn,gkjn->gikn", A, A)
    expected = np.moveaxis(np.linalg.inv(np.moveaxis(H, -1, 1)), 1, -1)
    np.testing.assert_allclose(inverse_symmetric(H), expected, rtol=1e-6)


def test_what_is_no_matrix_has_the_inverse_0_and_no_other_notices() -> None:
    H = np.array([np.diag([2.0, 4.0, 8.0]), np.diag([1e30, np.inf, 1e30])], np.float32).transpose(1, 2, 0)[None]
    np.testing.assert_array_equal(inverse_symmetric(H)[0, :, :, 0], np.diag([0.5, 0.25, 0.125]))
    np.testing.assert_array_equal(inverse_symmetric(H)[0, :, :, 1], 0.0)
