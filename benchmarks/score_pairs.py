"""Times BioBuddy's SCoRE on pairs of bodies; runs in an environment of its own, see speed.py.

    python score_pairs.py poses.npz 0:1 0:2 ...

Prints one line of JSON: CPU seconds and both halves of the centre [m] of every pair.
Threads are as the environment says.
"""

import json
import logging
import sys
import time

import numpy as np
from biobuddy import RotoTransMatrixTimeSeries
from biobuddy.model_modifiers.joint_center_tool import Score


def main() -> None:
    logging.disable(logging.CRITICAL)
    poses = np.load(sys.argv[1])
    R, p = poses["R_world_body"], poses["p_world_body"]
    T = np.zeros((4, 4, *p.shape[:2]))
    T[:3, :3], T[:3, 3], T[3, 3] = R.transpose(2, 3, 0, 1), p.transpose(2, 0, 1), 1.0
    found = []
    for text in sys.argv[2:]:
        child, parent = map(int, text.split(":"))
        begin = time.process_time()
        series = [RotoTransMatrixTimeSeries.from_rt_matrix(T[:, :, :, body]) for body in (parent, child)]
        _, in_parent, in_child, *_ = Score.perform_algorithm(*series)
        spent = time.process_time() - begin
        found.append({"seconds": spent, "p_child_joint": in_child.tolist(), "p_parent_joint": in_parent.tolist()})
    print(json.dumps(found))


if __name__ == "__main__":
    main()
