"""BioBuddy's SCoRE and SARA on pairs of bodies; runs in an environment of its own, see peers.py.

    python biobuddy_peers.py facts.json in.npz out.npz

For every pair of every case: where SCoRE puts the joint in child and parent, and SARA's axis in both.
"""

import json
import logging
import sys
from importlib.metadata import version
from pathlib import Path

import numpy as np
from biobuddy import RotoTransMatrixTimeSeries
from biobuddy.model_modifiers.joint_center_tool import Sara, Score


def main():
    logging.disable(logging.CRITICAL)
    facts = json.loads(Path(sys.argv[1]).read_text())
    given = np.load(sys.argv[2])
    out = {}
    for name, pairs in facts.items():
        R, p = given[f"{name} R"], given[f"{name} p"]
        T = np.zeros((4, 4, *p.shape[:2]))
        T[:3, :3], T[:3, 3], T[3, 3] = R.transpose(2, 3, 0, 1), p.transpose(2, 0, 1), 1.0
        rows = []
        for child, parent in pairs:
            seen = np.isfinite(p[:, [child, parent]]).all(axis=(1, 2))
            series = [RotoTransMatrixTimeSeries.from_rt_matrix(T[:, :, seen, body]) for body in (parent, child)]
            _, in_parent, in_child, *_ = Score.perform_algorithm(*series)
            _, axis_parent, axis_child, _, sara_parent, sara_child, *_ = Sara.perform_algorithm(*series)
            rows.append([in_child[:3], in_parent[:3], axis_child[:3], axis_parent[:3], sara_child[:3], sara_parent[:3]])
        out[name] = np.array(rows)
    np.savez(sys.argv[3], **out)
    print(json.dumps({"biobuddy": version("biobuddy")}))


if __name__ == "__main__":
    main()
