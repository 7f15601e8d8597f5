"""python -m benchmarks [NAME ...]: the measurements named, or every one, in turn, each in a process of its own."""

import argparse
import subprocess
import sys

NAMES = (
    "bound",
    "coverage",
    "trees",
    "cmu",
    "hinges",
    "angles",
    "walks",
    "gait_events",
    "machines",
    "worlds",
    "speed",
    "real",
    "people",
    "reading",
    "playback",
    "kinematics",
    "slips",
    "swaps",
    "marker_swaps",
    "marker_sets",
    "rigid_pair",
    "field",
    "connections",
    "promise",
    "moving_joints",
    "page",
    "belong",
    "mountings",
    "kills",
    "mutants",
    "studies",
    "split_file",
    "recorder_kills",
    "soak",
    "environments",
    "live",
    "paper",
)


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description="Measurements; all of them take hours.")
    parser.add_argument("names", nargs="*", metavar="NAME", help=f"of {', '.join(NAMES)}; every one by default")
    names = parser.parse_args().names or NAMES
    if unknown := [name for name in names if name not in NAMES]:
        parser.error(f"no measurement '{unknown[0]}'; choose from {', '.join(NAMES)}")
    commands = {name: [sys.executable, "-m", f"benchmarks.{name}"] for name in names}
    failed = [name for name, command in commands.items() if subprocess.run(command, check=False).returncode]
    if failed:
        print(f"failed: {', '.join(failed)}", file=sys.stderr)
    return len(failed)


if __name__ == "__main__":
    sys.exit(main())
