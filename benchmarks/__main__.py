"""python -m benchmarks: every measurement in turn, each in a process of its own."""

import subprocess
import sys

NAMES = (
    "bound",
    "coverage",
    "trees",
    "cmu",
    "hinges",
    "speed",
    "real",
    "reading",
    "playback",
    "kinematics",
    "slips",
    "swaps",
    "marker_swaps",
    "rigid_pair",
    "field",
    "connections",
    "promise",
    "moving_joints",
    "page",
    "kills",
    "paper",
)


def main() -> int:
    failed = [
        name for name in NAMES if subprocess.run([sys.executable, "-m", f"benchmarks.{name}"], check=False).returncode
    ]
    if failed:
        print(f"failed: {', '.join(failed)}", file=sys.stderr)
    return len(failed)


if __name__ == "__main__":
    sys.exit(main())
