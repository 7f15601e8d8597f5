"""Motion: a skeleton's joints over time. `play` takes it from a recording, `forward` gives the poses back.

The figure is played by rotations alone (section 3.4 of the paper): its joints stay together and its limbs keep their
length, and what the recording said otherwise shows as the departure between measured and played poses.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from ..maths.arrays import Bools, Floats
from ..maths.spool import copy_array, over_frames, seal, zeros
from ..maths.threads import keep_arithmetic
from ..model.motion import Motion, free_bodies, match_bodies, measure_slide, order_joints, relate_rotations, time_motion
from ..model.skeleton import Skeleton
from ..model.take import Take
from .bridging import bridge_line, bridge_turn, describe_gaps
from .rails import follow_threads

BRIDGED_GAP_MAX_S = 0.2  # s between the two known samples around a gap that is bridged


@keep_arithmetic()
def play(skeleton: Skeleton, take: Take, *, longest_gap: float = BRIDGED_GAP_MAX_S) -> Motion:
    """The motion that the recording shows, without any gap at the joints.

    Free bodies have the pose of their sensor; every other body has its measured rotation relative to its parent's.
    Where a sensor was not seen, its rotation relative to its parent (a free body's pose in the world) is interpolated
    along the shortest arc between the known samples around the gap, if these are at most `longest_gap` [s] apart and in
    one segment. Longer gaps stay NaN; both are findings. A rotation relative to a parent that is not known is not
    known either, so that in `forward` everything beyond has no pose there. How far a screw is along its axis follows
    from its rotation, and from the places of its two sensors for its whole turns.
    """
    take = match_bodies(skeleton, take)
    R, p, filled, left = bridge(skeleton, take, longest_gap)
    told = (*describe_gaps(take, filled, "gap-bridged"), *describe_gaps(take, left, "gap-left"))
    slide = follow_threads(skeleton, measure_slide(skeleton, take), R, take.segment)
    return replace(time_motion(skeleton, take, seal(R), seal(p), told), slide=slide)


def bridge(skeleton: Skeleton, take: Take, longest_gap: float) -> tuple[Floats, Floats, Bools, Bools]:
    """R_parent_body (n, m, 3, 3) and p_world_free (n, k, 3) [m] of a take that has the skeleton's bodies in its order,
    and (n, m) which poses that were not seen are bridged, and which are left unknown.
    """
    columns = [take.index(name) for name in free_bodies(skeleton)]
    R = relate_rotations(skeleton, take.R_world_body)
    p = over_frames(lambda part: part[:, columns], take.p_world_body)
    filled, left = zeros(take.seen.shape, np.bool_), zeros(take.seen.shape, np.bool_)
    gone: Bools = np.asarray(~take.seen.all(axis=0))
    if not gone.any():
        return R, p, filled, left
    R_world = copy_array(take.R_world_body)
    for k, body in enumerate(columns):
        if gone[body]:
            R[:, body], filled[:, body], left[:, body] = bridge_turn(take, R_world[:, body], longest_gap)
            p[:, k] = bridge_line(take, p[:, k], filled[:, body])
            R_world[:, body] = R[:, body]
    for child, parent, _ in order_joints(skeleton):
        closed = filled[:, parent]  # where the parent has a rotation by now, which it had not
        R[closed, child] = np.swapaxes(R_world[closed, parent], -1, -2) @ R_world[closed, child]
        gone[child] |= gone[parent]
        if gone[child]:
            R[:, child], bridged, lost = bridge_turn(take, R[:, child], longest_gap)
            filled[:, child], left[:, child] = bridged, lost & ~take.seen[:, child]
            R_world[bridged, child] = R_world[bridged, parent] @ R[bridged, child]
    return R, p, filled, left
