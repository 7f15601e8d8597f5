"""Known figures in motion: the skeleton of a simulated world as it truly is, its take, and the motion played on it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from condyle.maths import rotation
from condyle.model.motion import Motion
from condyle.model.skeleton import Joint, Skeleton
from condyle.model.take import Take
from condyle.motion.play import play
from condyle.simulate import SimulatedFigure, World, chain, human, simulate

EXACT = 1e-12  # m, and entries of rotations
NEARLY = 1e-9  # m: sums of several bones


class Moving(NamedTuple):
    skeleton: Skeleton
    take: Take
    motion: Motion


def person(motion: str = "walk", seconds: float = 4.0, rate: float = 30.0, seed: int = 0) -> Moving:
    """The simulated human, root pelvis."""
    return moving(simulate(human(), motion, seconds=seconds, rate=rate, seed=seed))  # type: ignore[arg-type]


def links(kinds: Sequence[str] = ("ball", "hinge", "rigid"), seconds: float = 4.0, seed: int = 0) -> Moving:
    """A chain link0, link1, ... with one joint of each kind in turn, root link0."""
    return moving(simulate(chain(kinds), "exercise", seconds=seconds, rate=30, seed=seed))  # type: ignore[arg-type]


def tree(edges: Mapping[str, str]) -> Moving:
    """Bodies and what each hangs on, "" for the root, a decimetre or so apart, moved anyhow."""
    names = tuple(edges)
    parent = np.array([names.index(up) if up else -1 for up in edges.values()])
    offsets = np.array([[0.02 * (k % 3), 0.1 if name.startswith("l_") else -0.1, 0.1] for k, name in enumerate(names)])
    figure = SimulatedFigure(names, parent, offsets, ("ball",) * len(names), np.full((len(names), 3), np.nan))
    return moving(simulate(figure, "exercise", seconds=1, rate=30))


def moving(world: World, names: Mapping[str, str] | None = None) -> Moving:
    """The world's truth, its bodies renamed."""
    skeleton, take = skeleton_of(world), world.take
    if names is not None:
        skeleton, take = renamed(skeleton, names), replace(take, names=tuple(names.get(n, n) for n in take.names))
    return Moving(skeleton, take, play(skeleton, take))


def skeleton_of(world: World) -> Skeleton:
    """A skeleton with the joints that are true of a world."""
    truth = world.truth
    inside = [k for k in range(len(truth.names)) if truth.parent[k] >= 0]
    joints = tuple(
        Joint(
            truth.names[k],
            truth.names[truth.parent[k]],
            truth.kind[k],
            "determined",
            truth.p_child_joint[k],
            truth.p_parent_joint[k],
            truth.axis_child[k] if truth.kind[k] == "hinge" else None,
            truth.axis_parent[k] if truth.kind[k] == "hinge" else None,
            0.0 if truth.kind[k] == "hinge" else None,
            0.0,
            len(truth.time),
            np.ones(6),
            None,
            None,
            None,
            np.zeros(3),
        )
        for k in inside
    )
    parents = {joint.parent for joint in joints}
    free = [name for k, name in enumerate(truth.names) if truth.parent[k] < 0]
    return Skeleton(
        truth.names,
        tuple(name for name in free if name in parents),
        tuple(name for name in free if name not in parents),
        joints,
    )


def renamed(skeleton: Skeleton, names: Mapping[str, str]) -> Skeleton:
    """The same with other names of bodies."""

    def new(name: str) -> str:
        return names.get(name, name)

    return replace(
        skeleton,
        bodies=tuple(map(new, skeleton.bodies)),
        roots=tuple(map(new, skeleton.roots)),
        loose=tuple(map(new, skeleton.loose)),
        joints=tuple(replace(joint, child=new(joint.child), parent=new(joint.parent)) for joint in skeleton.joints),
    )


def rooted(skeleton: Skeleton, root: str) -> Skeleton:
    """The same tree seen from another body: joints on the way to the old root change sides."""
    edges = {joint.child: joint for joint in skeleton.joints}
    turned, here = [], root
    while here in edges:
        joint = edges.pop(here)
        turned.append(
            replace(
                joint,
                child=joint.parent,
                parent=joint.child,
                p_child_joint=joint.p_parent_joint,
                p_parent_joint=joint.p_child_joint,
                axis_child=joint.axis_parent,
                axis_parent=joint.axis_child,
            )
        )
        here = joint.parent
    return replace(skeleton, roots=(root,), joints=(*turned, *edges.values()))


def is_proper(R: np.ndarray) -> bool:
    """Whether all of R (..., 3, 3) are rotations."""
    return bool(np.abs(rotation.defect(R)).max() < EXACT)


def assert_same(a: Take, b: Take, within: float = NEARLY) -> None:
    """Poses of the bodies of `a` are theirs in `b` too."""
    b = b.select(a.names)
    np.testing.assert_allclose(a.p_world_body, b.p_world_body, rtol=0, atol=within)
    np.testing.assert_allclose(a.R_world_body, b.R_world_body, rtol=0, atol=within)


def two_hands(rng: np.random.Generator) -> Take:
    """Two bodies that move and turn through half a metre with nothing between them."""
    t = np.arange(1000)[:, None, None] / 100
    wave = np.sin(t * rng.uniform(0.5, 2.0, (1, 2, 6)) + rng.uniform(0, 6.0, (1, 2, 6)))
    place = 0.3 * wave[..., :3] + np.array([[0.0, 0, 1], [0.4, 0, 1]])
    return Take.from_poses(place, R_world_body=rotation.from_vector(wave[..., 3:]), names=["left", "right"], rate=100)
