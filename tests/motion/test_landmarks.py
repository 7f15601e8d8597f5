from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from condyle import play
from condyle.errors import UsageError
from condyle.io.exports.build_figure import build_figure
from condyle.model.take import BodyMarker
from condyle.motion.frames import build_frames
from condyle.motion.landmarks import check_landmarks
from condyle.motion.neutral import Neutral
from condyle.motion.person import Body, find_bodies
from tests.make import walkers

UP, NONE = np.array([0.0, 0.0, 1.0]), Neutral(None, "")
BONES = {  # landmarks in the true axes of their bone: forward, left, up [m], from its origin
    "pelvis": {
        "ras": (0.1, -0.12, 0.02),
        "las": (0.1, 0.12, 0.02),
        "rps": (-0.1, -0.05, 0.02),
        "lps": (-0.1, 0.05, 0.02),
    },
    "chest": {"c7": (-0.08, 0, 0.4), "ij": (0.05, 0, 0.4), "t8": (-0.08, 0, 0.2), "px": (0.05, 0, 0.2)},
    "l_thigh": {"lateral": (0, 0.05, -0.432), "medial": (0, -0.05, -0.432)},
    "r_shank": {"lateral": (0, -0.04, -0.4), "medial": (0, 0.04, -0.4)},
    "l_foot": {"heel": (-0.05, 0, -0.05), "toe": (0.15, 0, -0.05)},
}
SEGMENTS = {"pelvis": "pelvis", "chest": "thorax", "l_thigh": "thigh_l", "r_shank": "shank_r", "l_foot": "foot_l"}


def place(body: str, point: tuple[float, float, float]) -> np.ndarray:
    """(3,) [m] in the sensor's frame."""
    truth = walkers.walker(1).truth
    k = truth.names.index(body)
    return truth.mounts.R_bone_body[k].T @ (np.array(point) - truth.mounts.p_bone_body[k])


@pytest.fixture(scope="module")
def body() -> Body:
    fit = walkers.fitted(1)
    markers = tuple(
        BodyMarker(name, f"{name}.{word}", place(name, point))
        for name, points in BONES.items()
        for word, point in points.items()
    )
    skeleton = replace(fit.skeleton, markers=markers)
    return find_bodies(skeleton, build_figure(skeleton, play(skeleton, fit.take)))[0]


@pytest.mark.parametrize("palpated", [False, True])
@pytest.mark.parametrize("name", BONES)
def test_landmarks_define_the_frames_of_the_isb(body: Body, name: str, palpated: bool) -> None:
    told = {word: place(name, point).tolist() if palpated else f"{name}.{word}" for word, point in BONES[name].items()}
    landmarks = {SEGMENTS[name]: told}
    check_landmarks([body], landmarks)
    frame = next(one for one in build_frames(body, NONE, UP, landmarks).values() if one.body == name)
    truth = walkers.walker(1).truth
    true = truth.mounts.R_bone_body[truth.names.index(name)].T @ walkers.AXES
    np.testing.assert_allclose(frame.R_body_anat, true, atol=0.02 if name == "l_foot" else 1e-6)
    assert frame.source == "landmarks"
    assert "landmarks: " in frame.made


@pytest.mark.parametrize(
    ("landmarks", "words"),
    [
        ({"knee_l": {}}, "no segment 'knee_l' that takes landmarks; there are pelvis"),
        ({"thigh_l": {"lateral": "a"}}, "'thigh_l' needs the landmarks lateral, medial, not lateral"),
    ],
)
def test_a_wrong_segment_or_landmark_is_one_sentence(body: Body, landmarks: dict, words: str) -> None:
    with pytest.raises(UsageError, match=words):
        check_landmarks([body], landmarks)


def test_a_marker_that_is_not_on_the_body_is_named_with_those_that_are(body: Body) -> None:
    with pytest.raises(UsageError, match="no marker 'KNE' on 'l_thigh'"):
        build_frames(body, NONE, UP, {"thigh_l": {"lateral": "KNE", "medial": "l_thigh.medial"}})
    with pytest.raises(UsageError, match="three numbers"):
        build_frames(body, NONE, UP, {"thigh_l": {"lateral": [0.0, 1.0], "medial": "l_thigh.medial"}})


@pytest.mark.parametrize(
    ("lateral", "medial", "words"),
    [
        ([21.0, -48.0, 115.0], [0.0, 0.1, 0.0], "is 115 m from its sensor; write it in metres"),
        ([0.0, 0.1, 0.0], [0.0, 1e300, 0.0], "m from its sensor"),
        ([0.0, 0.1, 0.0], [0.0, 0.1, 0.0], "two landmarks of 'thigh_l' are at one place"),
    ],
)
def test_landmarks_that_tell_no_frame_are_refused(body: Body, lateral: list, medial: list, words: str) -> None:
    with pytest.raises(UsageError, match=words):
        build_frames(body, NONE, UP, {"thigh_l": {"lateral": lateral, "medial": medial}})
