"""python -m benchmarks.paper: every experiment in turn, then the page, its figures and the README's table."""

from __future__ import annotations

import argparse
import sys
import time

from ..harness import FIRST_SEED, progress
from . import accuracy, page
from .store import FIGURES, PAGE, save


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.paper", description=__doc__)
    parser.add_argument("--only", default="", help=f"experiments, with commas between: {', '.join(page.EXPERIMENTS)}")
    parser.add_argument("--repeats", type=int, default=0, help="repeats of each experiment; 0: each experiment's own")
    parser.add_argument("--quick", action="store_true", help="one repeat of everything, printed; nothing is written")
    parser.add_argument("--seed", type=int, default=FIRST_SEED, help=f"seed of the first recording ({FIRST_SEED})")
    parser.add_argument("--page", action="store_true", help="measure nothing: write the page from what is stored")
    given = parser.parse_args()
    given.draw = not given.quick
    return given


def main() -> int:
    given = arguments()
    asked = [name for name in given.only.split(",") if name] or list(page.EXPERIMENTS)
    unknown = [name for name in asked if name not in page.EXPERIMENTS]
    if unknown:
        print(f"no experiment '{unknown[0]}'; there are {', '.join(page.EXPERIMENTS)}", file=sys.stderr)
        return 2
    FIGURES.mkdir(exist_ok=True)
    for name in [] if given.page else asked:
        begin = time.perf_counter()
        found = page.EXPERIMENTS[name].measure(given)
        if found is None:
            progress(f"{name}: no environment or recordings for it; what is stored is kept")
            continue
        if given.quick:
            print(page.EXPERIMENTS[name].section(found), end="\n\n")
        else:
            save(name, found, seed=given.seed)
        progress(f"{name}: {time.perf_counter() - begin:.0f} s")
    if not given.quick:
        page.write()
        told = "and README.md" if accuracy.update() else "(README.md has no marks for its table)"
        progress(f"wrote {PAGE} {told}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
