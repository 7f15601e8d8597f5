"""Table 1 and figures 5 to 7: the wooden linkage in six sets, its sensors moved before set 6; and two real linkages."""

from __future__ import annotations

import argparse
from typing import Any

import condyle
from condyle.model.field import Rod
from condyle.model.take import Take
from condyle.pairs.rigid_pair import measure_pair, scale_of
from condyle.report.drawing import lay_out_time
from condyle.report.figures import draw_gap, save_figure
from condyle.report.model import choose_frame, draw_model
from condyle.simulate import Truth, linkage
from condyle.simulate.mounting import random_mounts
from condyle.simulate.seeds import stream

from .. import harness
from ..bound import CM
from ..harness import edges, progress, true_edges
from . import published, real_linkage, space, tables
from .store import FIGURES, PLAY, Rival, figure, table

TITLE = "3. The wooden linkage (table 1, figures 5 to 7)"
SETS = 6
MOVED = 5  # before this set, counted from zero, sensors are mounted anew
ROOMS = 8
WAYS = ("least squares", "default", "field", "field and rod")


def recordings(room: space.Room) -> list[tuple[Take, Truth]]:
    """The six sets in one room."""
    shape = linkage()
    mounts = [random_mounts(shape.parent, shape.p_parent_joint, stream(room.seed, name)) for name in ("first", "moved")]
    out = []
    for number in range(SETS):
        seed = 1000 * room.seed + number
        truth = space.moved(shape, "exercise", seed, mounts[number >= MOVED])
        out.append((room.record(truth, seed), truth))
    return out


def fit_all(take: Take, rod: Take) -> dict[str, condyle.Fit]:
    """The four ways; all but the last take the scale from the rod's mean length, as the paper does."""
    known = published.ROD * CM
    scale = scale_of(measure_pair(rod, "rod_a", "rod_b"), known).scale
    return {
        "least squares": condyle.fit(take, plan="least-squares", scale=scale, intervals=False),
        "default": condyle.fit(take, scale=scale),
        "field": condyle.fit(take, scale=scale, field=True),
        "field and rod": condyle.fit(take, field=Rod(("rod_a", "rod_b"), known, rod)),
    }


def length_errors(fitted: condyle.Fit, truth: Truth) -> list[float | None]:
    """Calculated less true [cm] of the lengths of table 1, None where none is told."""
    errors = harness.length_errors(fitted.skeleton, truth)
    return [None if errors.get(key) is None else errors[key] / CM for key in _keys(truth)]


def _keys(truth: Truth) -> list[harness.Key]:
    """The lengths of table 1 as the body and its neighbours."""
    up = dict(truth.edges)
    return [
        (body, frozenset(up[joint] if joint == body else joint for joint in joints))
        for body, *joints in published.LINKAGE_LIMBS.values()
    ]


def measure(given: argparse.Namespace) -> dict[str, Any]:
    rooms = 1 if given.quick else given.repeats or ROOMS
    errors: dict[str, list[list[list[float | None]]]] = {way: [] for way in WAYS}
    right, held, told, moved = dict.fromkeys(WAYS, 0), dict.fromkeys(WAYS[1:], 0), 0, {}
    for number in range(rooms):
        room = space.Room(given.seed + number)
        rod = room.rod()
        fits = [(fit_all(take, rod), truth) for take, truth in recordings(room)]
        for way in WAYS:
            columns = [length_errors(fitted[way], truth) for fitted, truth in fits]
            errors[way].append([list(row) for row in zip(*columns, strict=True)])
            right[way] += sum(edges(fitted[way].skeleton) == true_edges(truth) for fitted, truth in fits)
        for way in held:
            for fitted, truth in fits:
                hold = harness.lengths_held(fitted[way].skeleton, truth)
                held[way] += sum(hold.get(key, False) for key in _keys(truth))
        told += sum(any(f.code == "bent-field" for f in fitted["default"].findings) for fitted, _ in fits)
        if number == 0:
            shown = [(fitted["least squares"], fitted["field and rod"]) for fitted, _ in fits]
            best, worst = _extremes([plain for plain, _ in shown])
            if given.draw:
                draw(shown, best, worst)
            moved = {"best": _named(shown, best), "worst": _named(shown, worst)}
        progress(f"linkage, room {number + 1} of {rooms}")
    return {
        "rooms": rooms,
        "errors_cm": errors,
        "trees_right": right,
        "lengths_held": held,
        "bend_told": told,
        "joints": moved,
        "real": real_linkage.measure(),
    }


def _extremes(fits: list[condyle.Fit]) -> tuple[tuple[int, str], tuple[int, str]]:
    """Set and joint with the least and the largest residual, by least squares."""
    every = [(joint.residual, number, joint.child) for number, fit in enumerate(fits) for joint in fit.skeleton.joints]
    return min(every)[1:], max(every)[1:]


def _named(shown: list[tuple[condyle.Fit, condyle.Fit]], which: tuple[int, str]) -> dict[str, Any]:
    number, child = which
    plain, corrected = shown[number]
    joint = plain.skeleton.joint(child)
    same = next(one for one in corrected.skeleton.joints if {one.child, one.parent} == {joint.child, joint.parent})
    names = {"set": number + 1, "child": joint.child, "parent": joint.parent}
    return {**names, "residual_cm": joint.residual / CM, "corrected_cm": same.residual / CM}


def draw(shown: list[tuple[condyle.Fit, condyle.Fit]], best: tuple[int, str], worst: tuple[int, str]) -> None:
    first = shown[0][1]
    picture = choose_frame(first.skeleton, first.take)
    if picture is not None:
        save_figure(draw_model(picture), FIGURES / "figure-5.svg")
    for name, (number, child), corrected in (
        ("figure-6", best, False),
        ("figure-7", worst, False),
        ("figure-7-corrected", worst, True),
    ):
        fit = shown[number][corrected]
        pair = {child, shown[number][0].skeleton.joint(child).parent}
        k = next(k for k, one in enumerate(fit.skeleton.joints) if {one.child, one.parent} == pair)
        joint, axis = fit.skeleton.joints[k], lay_out_time(fit.take.time, fit.take.segment)
        drawn = draw_gap(axis, fit.gap[:, k], fit.weight[:, k], joint.child, joint.parent, joint.residual)
        save_figure(drawn, FIGURES / f"{name}.svg")


def section(found: dict[str, Any]) -> str:
    rooms, errors = found["rooms"], found["errors_cm"]
    first = {way: one[0] for way, one in errors.items()}
    joints = found["joints"]
    rows = [
        [
            way,
            f"{found['trees_right'][way]} of {SETS * rooms}",
            f"{found['lengths_held'][way]} of {5 * SETS * rooms}" if way in found["lengths_held"] else "-",
        ]
        for way in WAYS
    ]
    best, worst = joints["best"], joints["worst"]
    return "\n\n".join(
        [
            "Six bodies, five ball joints, the paper's lengths, in the space of experiment 2, 45 s at 30 Hz for each "
            "set. Sensors sit at random and are mounted anew before set 6. *Least squares*, the *default* and *field* "
            "take the scale from the rod's mean length, as the paper did; *field and rod* fits the rod's length in "
            "the same field. The simulated field is smooth, as the correction takes it to be; near lumps of metal it "
            "gains less: see [bent fields](field.md).",
            f"One room of {rooms}, the first:",
            tables.paper_table(published.LINKAGE, first, [f"Set {k + 1}" for k in range(SETS)]),
            f"All {rooms} rooms (largest: mean over rooms of the largest error of the six sets):",
            tables.summary(published.LINKAGE, errors),
            table(["", "trees right", "95 % intervals hold the length"], rows),
            f"The paper's hierarchy was right in all of its six sets. A bent field is told in {found['bend_told']} of "
            f"{SETS * rooms} recordings.",
            figure("figure-5", "As figure 5C: the linkage from set 1. Spheres are joints, cubes sensors."),
            figure("figure-6", f"As figure 6: the best joint by least squares, set {best['set']}."),
            figure("figure-7", f"As figure 7: the worst joint by least squares, set {worst['set']}."),
            figure(
                "figure-7-corrected",
                f"The same joint with field and rod: {worst['corrected_cm']:.2f} cm instead of "
                f"{worst['residual_cm']:.2f} cm rms.",
            ),
            real_linkage.section(found["real"]),
        ]
    )


def rivals(found: dict[str, Any]) -> list[Rival]:
    why = {
        "default": "The field bends lengths by about as much as the paper's did, and weights do not straighten it; "
        "`--field` does, best with a rod",
        "field": "Without a rod the scale of the field stays open",
        "field and rod": "",
    }
    out = []
    for way in WAYS[1:]:
        ours = found["errors_cm"][way]
        for what, number, paper in (
            ("rms length error of the linkage", tables.rms_of(ours), tables.published_rms(published.LINKAGE)),
            ("largest length error of six sets", tables.largest_of(ours), tables.published_largest(published.LINKAGE)),
        ):
            out.append(Rival(f"{what}, {way}", number, paper, "cm", "the paper", why[way]))
    for label, one in found["real"].items():
        for name, joint in one["joints"].items():
            ours, plain = joint["default"]["across_mm"], joint["least-squares"]["across_mm"]
            what = f"repeatability over motions, real linkage {label}: {name}"
            out.append(Rival(what, ours, plain, "mm", "least squares on the same data", PLAY))
    return out


def quick_sets(seed: int, numbers: tuple[int, ...]) -> list[tuple[Take, Truth, Take]]:
    """Some of the sets of one room and the rod there, for the tests."""
    room = space.Room(seed)
    every = recordings(room)
    return [(*every[number], room.rod()) for number in numbers]
