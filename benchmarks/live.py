"""Sessions as they stream: is the tree right after ten seconds, how soon is a slip told and of the right sensor, is
anything told that did not happen, and what does a solve cost?
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

import numpy as np

from condyle.io.log_records import FRAME, FRAME_HEAD, LAYOUT, LAYOUT_NUMBER, Layout, Record, encode_layout
from condyle.live.session import Session
from condyle.maths import rotation
from condyle.model.recording import Convention
from condyle.model.take import Take
from condyle.simulate import SensorSlip, human, simulate
from condyle.simulate.seeds import stream

from .bound import CM, noise
from .coverage import SOFT
from .harness import Table, arguments, measured, percent, progress, publish

SOLVE_EVERY_S, SLIP_AT_S, SESSION_S, RATE_HZ = 1.5, 30.0, 46.0, 60.0
TREE_AT_S = 10.0


@dataclass(frozen=True)
class Streaming:
    name: str
    motion: str
    size: float  # m of the slip; 0: none


CASES = tuple(
    Streaming(f"{motion}, {size / CM:g} cm" if size else f"{motion}, no slip", motion, size)
    for motion in ("exercise", "walk")
    for size in (2 * CM, 1 * CM, 0.0)
)


@dataclass
class Told:
    """Over sessions: whether the tree was right in time, s after which the slip was told (inf: never), whether it was
    the right sensor, alarms that nothing caused, hours, and CPU [s] of every solve.
    """

    tree: list[bool] = field(default_factory=list)
    delay: list[float] = field(default_factory=list)
    right: list[bool] = field(default_factory=list)
    false: int = 0
    hours: float = 0.0
    cpu: list[float] = field(default_factory=list)


def records_of(take: Take) -> Iterator[tuple[float, Record]]:
    """The records of a log with the times at which they come."""
    stated = frozenset({"rotation", "unit"})
    layout = Layout("demo", take.names, convention=Convention("wxyz", unit="m", stated=stated))
    yield 0.0, Record(LAYOUT, memoryview(LAYOUT_NUMBER.pack(0) + encode_layout(layout)))
    turn = rotation.to_quaternion(take.R_world_body).reshape(take.frames, -1)
    rows = np.concatenate([take.p_world_body.reshape(take.frames, -1), turn], axis=1)
    for time, row in zip(take.time.tolist(), rows, strict=True):
        yield time, Record(FRAME, memoryview(FRAME_HEAD.pack(0, 0, time, time) + row.tobytes()))


def measure(case: Streaming, seeds: Sequence[int]) -> Told:
    told = Told()
    for seed in seeds:
        rng, figure = stream(seed, "slip"), human()
        body = figure.names[rng.integers(len(figure.names))]
        way = rng.standard_normal(3)
        slip = SensorSlip(body, SLIP_AT_S, tuple(case.size * way / np.linalg.norm(way)))
        how = noise(0.15, 0.15, **SOFT, slips=(slip,) if case.size else ())
        world = simulate(figure, case.motion, seconds=SESSION_S, rate=RATE_HZ, seed=seed, disturbances=how)  # type: ignore[arg-type]
        _follow(case, world.take, body, {frozenset(edge) for edge in world.truth.edges}, told)
        told.hours += SESSION_S / 3600
    return told


def _follow(case: Streaming, take: Take, body: str, tree: set[frozenset[str]], told: Told) -> None:
    session, due, looked = Session(), SOLVE_EVERY_S, False
    first: tuple[float, bool] | None = None
    for time, record in records_of(take):
        if time >= due:
            due += SOLVE_EVERY_S
            found = session.solve()
            told.cpu.append(found.cpu)
            if time >= TREE_AT_S and not looked:
                looked = True
                joints = () if found.skeleton is None else found.skeleton.joints
                told.tree.append({frozenset((joint.parent, joint.child)) for joint in joints} == tree)
            for alarm in found.raised:
                caused = case.size and alarm.finding.code == "slip" and time > SLIP_AT_S
                if caused and first is None:
                    first = time - SLIP_AT_S, alarm.finding.bodies == (body,)
                elif not caused:
                    told.false += 1
        session.add(record)
    if case.size:
        told.delay.append(np.inf if first is None else first[0])
        told.right += [] if first is None else [first[1]]


def main() -> None:
    given = arguments(__doc__, trials=40)
    rows, data = [], {}
    for case, told in measured(CASES, measure, given):
        progress(case.name)
        late = np.percentile(told.delay, 90, method="higher") if told.delay else np.nan
        rows.append(
            [
                case.name,
                f"{sum(told.tree)} of {len(told.tree)}",
                f"{np.median(told.delay):.1f} s, {late:.1f} s" if told.delay else "-",
                percent(np.mean(told.right)) if told.right else "-",
                f"{told.false} in {told.hours:.2f} h",
                f"{np.median(told.cpu):.2f} s, {max(told.cpu):.2f} s",
            ]
        )
        data[case.name] = vars(told)
    heads = [
        "session",
        "tree at 10 s",
        "slip told after: median, 90 %",
        "right sensor",
        "false alarms",
        "CPU of a solve: median, most",
    ]
    how = (
        f"A simulated person of 15 sensors under 5 mm of skin, {RATE_HZ:g} Hz, sessions of {SESSION_S:g} s, solved "
        f"every {SOLVE_EVERY_S:g} s; one sensor slips at {SLIP_AT_S:g} s. CPU: median, most."
    )
    publish("live", "Sessions as they stream", how, {"Sessions": Table(heads, rows)}, data, given)


if __name__ == "__main__":
    main()
