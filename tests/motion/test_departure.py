from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from condyle import UsageError, departure, forward, play
from condyle.maths import rotation
from tests.make import jointed

SAME = 1e-12  # m, rad


def test_a_shifted_and_turned_sensor_departs_by_just_that(rng: np.random.Generator) -> None:
    skeleton = jointed.figure(rng, 5)
    motion = jointed.motion(rng, skeleton, 20)
    take = forward(skeleton, motion)
    body = take.index(skeleton.joints[-1].child)
    p, R = take.p_world_body.copy(), take.R_world_body.copy()
    p[3:7, body] += [0.0, 0.03, 0.04]
    R[10, body] @= rotation.from_vector([0.2, 0.0, 0.0])
    found = departure(skeleton, motion, replace(take, p_world_body=p, R_world_body=R))
    expected = np.zeros((20, 5))
    expected[3:7, body] = 0.05
    np.testing.assert_allclose(found.distance, expected, atol=SAME)
    assert found.angle[10, body] == pytest.approx(0.2)
    (finding,) = found.findings
    assert (finding.code, finding.bodies, finding.unit) == ("departure", (take.names[body],), "m")
    assert finding.value == pytest.approx(0.05 * np.sqrt(4 / 20))
    assert 3 <= (finding.frame or 0) < 7
    assert found.rms[0][body] == pytest.approx(finding.value)
    assert take.names[body] in str(found)


def test_playing_departs_at_no_root(rng: np.random.Generator) -> None:
    skeleton = jointed.figure(rng, 6, 2)
    take = jointed.noisy(rng, skeleton, jointed.motion(rng, skeleton), 0.01, 0.02)
    found = departure(skeleton, play(skeleton, take), take)
    roots = [take.index(name) for name in skeleton.roots]
    assert found.distance[:, roots].max() <= SAME
    assert found.angle.max() <= 1e-7
    assert found.distance.max() > 0.01


def test_where_a_pose_is_missing_there_is_no_departure(rng: np.random.Generator) -> None:
    skeleton = jointed.figure(rng, 3)
    motion = jointed.motion(rng, skeleton, 5)
    take = forward(skeleton, motion)
    hidden = np.zeros((5, 3), bool)
    hidden[2, 1] = True
    found = departure(skeleton, motion, take.mask(hidden))
    assert np.isnan(found.distance).tolist() == hidden.tolist()
    nothing = departure(skeleton, motion, take.mask(np.ones((5, 3), bool)))
    assert nothing.findings == ()
    assert str(nothing).startswith("no body has both")
    assert np.isnan(nothing.rms[0]).all()


def test_a_take_of_other_length_is_refused(rng: np.random.Generator) -> None:
    skeleton = jointed.figure(rng, 3)
    motion = jointed.motion(rng, skeleton, 5)
    with pytest.raises(UsageError, match="give the take it was made from"):
        departure(skeleton, motion, forward(skeleton, motion).slice(0, 3))
