"""live/marker_bodies.py: markers that stream give the poses of the bodies they are on."""

from __future__ import annotations

import numpy as np

from condyle.live.marker_bodies import place_markers, pose_bodies
from condyle.maths import rotation
from condyle.model.recording import Convention
from condyle.model.take import BodyMarker, CarriedCentre

PLACES = np.array([[0.1, 0.0, 0.0], [0.0, 0.1, 0.02], [-0.1, 0.0, 0.03], [0.0, -0.05, 0.1]])
KNOWN = [BodyMarker("pelvis", f"P{k}", place) for k, place in enumerate(PLACES)]
R = rotation.from_vector(np.array([0.3, -0.2, 0.9]))
P = np.array([1.0, 2.0, 0.5])


def test_a_body_is_where_its_markers_are_whoever_they_are_labelled_for() -> None:
    labels = ["other", *(f"Marta:P{k}" for k in (3, 1, 0, 2))]
    p = np.concatenate([[[9.0, 9.0, 9.0]], PLACES[[3, 1, 0, 2]] @ R.T + P])
    turn, place = pose_bodies(KNOWN, labels, p)["pelvis"]
    assert np.allclose(turn, R)
    assert np.allclose(place, P)


def test_three_markers_do_and_two_do_not() -> None:
    labels, p = [one.name for one in KNOWN], PLACES @ R.T + P
    p[0] = np.nan
    assert np.allclose(pose_bodies(KNOWN, labels, p)["pelvis"][1], P)
    p[1] = np.nan
    assert pose_bodies(KNOWN, labels, p) == {}


def test_a_centre_comes_with_the_body_that_carries_it() -> None:
    centre = CarriedCentre("pelvis", np.array([0.08, 0.0, -0.05]), np.eye(3) * 1e-6)
    thigh = [
        BodyMarker("thigh", "hip", np.zeros(3), centre),
        BodyMarker("thigh", "T0", np.array([0.05, 0.0, -0.2])),
        BodyMarker("thigh", "T1", np.array([0.0, 0.04, -0.4])),
    ]
    turned = rotation.from_vector(np.array([0.0, 0.7, 0.0]))
    hip = R @ centre.p_body_centre + P
    p = np.concatenate([PLACES @ R.T + P, np.stack([one.p_body_marker for one in thigh[1:]]) @ turned.T + hip])
    labels = [*(one.name for one in KNOWN), "T0", "T1"]
    found = pose_bodies([*thigh, *KNOWN], labels, p)
    assert np.allclose(found["thigh"][0], turned)
    assert np.allclose(found["thigh"][1], hip)
    p[:2] = np.nan
    assert pose_bodies([*thigh, *KNOWN], labels, p) == {}


def test_a_body_that_is_carried_may_carry_another_whichever_comes_first() -> None:
    hip = CarriedCentre("pelvis", np.array([0.08, 0.0, -0.05]), np.eye(3) * 1e-6)
    knee = CarriedCentre("thigh", np.array([0.0, 0.0, -0.4]), np.eye(3) * 1e-6)
    own = np.array([[0.05, 0.0, -0.2], [0.0, 0.04, -0.3]])
    thigh = [BodyMarker("thigh", "hip", np.zeros(3), hip), *(BodyMarker("thigh", f"T{k}", own[k]) for k in (0, 1))]
    shank = [BodyMarker("shank", "knee", np.zeros(3), knee), *(BodyMarker("shank", f"S{k}", own[k]) for k in (0, 1))]
    p = np.concatenate([PLACES, own + hip.p_body_centre, own + hip.p_body_centre + knee.p_body_centre])
    labels = [*(one.name for one in KNOWN), "T0", "T1", "S0", "S1"]
    for known in ([*shank, *thigh, *KNOWN], [*KNOWN, *thigh, *shank], [*thigh, *shank, *KNOWN]):
        found = pose_bodies(known, labels, p @ R.T + P)
        assert set(found) == {"pelvis", "thigh", "shank"}
        assert np.allclose(found["shank"][0], R)
        assert np.allclose(found["shank"][1], R @ (hip.p_body_centre + knee.p_body_centre) + P)


def test_markers_are_placed_in_the_world_of_a_fit() -> None:
    sent = np.array([[100.0, 200.0, 300.0]])
    assert np.allclose(place_markers(("a",), sent, Convention("wxyz", unit="mm")), [[0.1, 0.2, 0.3]])
    left = Convention("wxyz", unit="mm", handed="left", axes=("x", "-z", "y"))
    assert np.allclose(place_markers(("a",), sent, left), [[-0.1, -0.3, 0.2]])
