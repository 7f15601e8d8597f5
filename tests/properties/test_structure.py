"""What must not matter to the tree: the order and the names of the bodies, and where the world is."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from condyle.estimate.structure import infer_structure
from condyle.maths import rotation
from condyle.model.take import Take
from condyle.simulate import Disturbances, linkage, prop, simulate, together
from tests.oracle.worlds import moved

SETTINGS = settings(max_examples=8, deadline=None, derandomize=True, database=None)
MARGIN = 1e-6  # relative
SCENES = ("noisy", "spiked", "still")
directions = st.tuples(st.floats(-3, 3), st.floats(-3, 3), st.floats(-3, 3))
places = st.tuples(st.floats(-10, 10), st.floats(-10, 10), st.floats(-10, 10))


def scene(kind: str) -> Take:
    """The linkage beside a loose prop."""
    spikes = 0.03 if kind == "spiked" else 0.0
    noise = Disturbances(position_noise=0.004, orientation_noise=0.005, spikes=spikes)
    toy = simulate(linkage(), "still" if kind == "still" else "walk", seconds=6, seed=1, disturbances=noise)
    return together([toy, prop(seconds=6, seed=1, disturbances=noise)], ["", ""]).take


TAKES = {kind: scene(kind) for kind in SCENES}


def answer(take: Take) -> dict[frozenset[str], float]:
    """Margins of the tree's edges by name, and the edges set apart with none."""
    found = infer_structure(take)
    pairs = [frozenset((take.names[i], take.names[j])) for i, j in found.fits.pairs]
    told = {pairs[k]: float(margin) for k, margin in zip(found.tree.edges, found.tree.margin, strict=True)}
    return told | {pairs[k]: -1.0 for k in found.apart} | {frozenset(): float(found.determined)}


@pytest.mark.parametrize("kind", SCENES)
@SETTINGS
@given(order=st.permutations(range(7)))
def test_the_order_of_the_bodies_does_not_matter(kind, order) -> None:
    take = TAKES[kind]
    assert answer(take.select([take.names[k] for k in order])) == pytest.approx(answer(take), rel=MARGIN)


@pytest.mark.parametrize("kind", SCENES)
@SETTINGS
@given(turn=directions, place=places)
def test_moving_the_world_does_not_matter(kind, turn, place) -> None:
    take = TAKES[kind]
    assert answer(moved(take, rotation.from_vector(turn), np.array(place))) == pytest.approx(answer(take), rel=MARGIN)


@pytest.mark.costly
@SETTINGS
@given(order=st.permutations(range(7)))
def test_names_do_not_matter(order) -> None:
    take = TAKES["noisy"]
    renamed = Take([f"n{k}" for k in order], take.time, take.R_world_body, take.p_world_body)
    back = {f"n{k}": name for k, name in zip(order, take.names, strict=True)}
    told = {frozenset(back[name] for name in edge): margin for edge, margin in answer(renamed).items()}
    assert told == pytest.approx(answer(take), rel=MARGIN)
