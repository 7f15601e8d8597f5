"""The page of a calibration: how large it is, how finely it shows the motion, and what it costs to write."""

from __future__ import annotations

import argparse
import math
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np

import condyle
from condyle import read
from condyle.maths import rotation
from condyle.model.take import Take
from condyle.report.pack import unpack
from condyle.report.page import assemble_page, open_page, read_template, to_html
from condyle.simulate import Disturbances, World, human, simulate, together
from condyle.simulate.world import prop

from .bound import noise
from .harness import FIRST_SEED, Table, progress, publish, rms

DATA = Path(__file__).resolve().parents[2] / "shared" / "data"
RATE = 120.0
SHORT = 20.0  # s that are repeated where a fit of the whole would take too long


@dataclass(frozen=True)
class Run:
    """One page: sizes [bytes], precision as the largest and rms departure [m, rad], CPU time [s]."""

    bodies: int
    frames: int
    shown: int
    motion: int
    html: int
    position_step: float
    orientation_step: float
    position_rms: float
    orientation_rms: float
    position_most: float
    orientation_most: float
    fit: float
    page: float


def people(count: int, props: int, seconds: float, seed: int, disturbances: Disturbances) -> Take:
    worlds: list[World] = [
        simulate(human(), "exercise", seconds=seconds, rate=RATE, seed=seed + k, disturbances=disturbances)
        for k in range(count)
    ]
    worlds += [prop(seconds=seconds, rate=RATE, seed=seed + k, disturbances=disturbances) for k in range(props)]
    return together(worlds).take


def fitted(take: Take, folder: Path, repeats: int) -> float:
    """Writes the folder of a fit; the CPU time [s] that the fit and the two files took."""
    begin = time.process_time()
    quick = repeats > 1
    condyle.fit(take, intervals=not quick, plan="least-squares" if quick else "default").save(folder, report=False)
    spent = time.process_time() - begin
    if quick:
        with np.load(folder / "motion.npz") as archive:
            arrays = {name: archive[name] for name in archive.files}
        arrays = {
            name: np.concatenate([array] * repeats) if len(array) == take.frames else array
            for name, array in arrays.items()
        }
        np.savez(folder / "motion.npz", **{**arrays, "time": np.arange(take.frames * repeats) / RATE})
    return spent


def run(take: Take, repeats: int = 1) -> Run:
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        fit = fitted(take, folder, repeats)
        begin = time.process_time()
        skeleton, motion = open_page(folder)
        page = assemble_page(skeleton, motion)
        html = to_html(page, read_template())
        spent = time.process_time() - begin
        assert page.motion is not None
        frames = motion.frames(0)
        found = unpack(motion.pack(0), len(frames.time), motion.packing)
        off = np.linalg.norm(found.p - frames.p, axis=-1)
        turned = rotation.angle(np.swapaxes(found.R, -1, -2) @ frames.R)
        off, turned = off[np.isfinite(off)], turned[np.isfinite(turned)]
        return Run(
            take.bodies, take.frames * repeats, page.motion.frames,
            sum(len(piece.data) for piece in page.motion.pieces), len(html),
            page.motion.position_step, page.motion.orientation_step,
            rms(off), rms(turned), float(off.max()), float(turned.max()), fit, spent,
        )  # fmt: skip


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seed", type=int, default=FIRST_SEED, help=f"seed of the first recording ({FIRST_SEED})")
    parser.add_argument("--only", default="", help="run only the cases whose name contains this; nothing is written")
    given = parser.parse_args()
    given.trials = 1
    usual, clean, seed = noise(0.3, 0.5), Disturbances(), given.seed
    cases: dict[str, Callable[[], Run]] = {
        "16 bodies, 45 s": lambda: run(people(1, 1, 45, seed, usual)),
        "16 bodies, 45 s, exact": lambda: run(people(1, 1, 45, seed, clean)),
        "16 bodies, 10 minutes": lambda: run(people(1, 1, 600, seed, usual)),
        "64 bodies, 10 minutes": lambda: run(people(4, 4, SHORT, seed, usual), round(600 / SHORT)),
    }
    if DATA.is_dir():
        hand = DATA / "ascension_trakstar" / "hand_1.csv"
        cases["a hand, 6 magnetic sensors, 31 s"] = lambda: run(read(hand))
    runs = {}
    for name, measure in cases.items():
        if given.only in name:
            runs[name] = measure()
            progress(f"{name}: {runs[name]}")
    heads = ["recording", "frames", "shown", "motion", "whole page", "step", "rms off", "most", "CPU fit", "CPU page"]
    rows = [
        [
            name,
            f"{run.frames:,}",
            f"{run.shown:,}",
            f"{run.motion / 1e6:.2f} MB",
            f"{run.html / 1e6:.2f} MB",
            f"{run.position_step * 1e3:.2g} mm, {math.degrees(run.orientation_step):.2g} deg",
            f"{run.position_rms * 1e3:.2g} mm, {math.degrees(run.orientation_rms):.2g} deg",
            f"{run.position_most * 1e3:.2g} mm, {math.degrees(run.orientation_most):.2g} deg",
            f"{run.fit:.1f} s",
            f"{run.page:.2f} s",
        ]
        for name, run in runs.items()
    ]
    how = (
        "report.html of recordings at 120 Hz with 3 mm and 0.5 degrees of white noise, where nothing else is said. "
        "Motion: its packed numbers as text. Step: what 1 stands for. Off: measured poses as the page unpacks them "
        "against those in motion.npz, as lengths in space and angles, over the first 1024 frames. CPU: of the fit "
        "with its two files, and of the page beside them. The 64 bodies are a fit of 20 s by least squares, repeated."
    )
    tables = {"Size, precision and time": Table(heads, rows)}
    publish("page", "The page", how, tables, {name: vars(run) for name, run in runs.items()}, given)


if __name__ == "__main__":
    main()
