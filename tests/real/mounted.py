"""Virtual sensors on the bones of recorded human motion, whose skeleton is exact."""

from __future__ import annotations

import numpy as np

from condyle.model.take import Take
from condyle.simulate import Disturbances, Truth, disturb, mount
from tests.make import recordings

NOISE = Disturbances(position_noise=0.003, orientation_noise=np.radians(0.5))


def clip(name: str, seed: int = 0) -> tuple[Take, Truth]:
    """A CMU clip with a sensor of 3 mm and 0.5 deg on each of its fifteen main bones."""
    entry = recordings.truth("cmu_bvh/*")
    up = {child: parent for parent, child in entry["joints"]}
    bones = sorted(entry["bones"], key=lambda bone: _depth(bone, up))
    parent = [bones.index(up[bone]) if bone in up else -1 for bone in bones]
    part = recordings.take(f"cmu_bvh/{name}").select(bones)
    R, p = part.R_world_body, part.p_world_body
    p_parent_joint = np.zeros((len(bones), 3))
    for k, above in enumerate(parent):
        if above >= 0:  # a bone begins at its joint; between two of the bones may lie others that hardly turn
            seen = np.einsum("nji,nj->ni", R[:, above], p[:, k] - p[:, above])
            p_parent_joint[k] = np.median(seen, axis=0)
    rng = np.random.default_rng(seed)
    truth = mount(bones, parent, R, p, p_parent_joint, rng, part.time)
    return disturb(truth, NOISE, seed)


def _depth(bone: str, up: dict[str, str]) -> int:
    return 1 + _depth(up[bone], up) if bone in up else 0
