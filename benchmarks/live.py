"""Sessions as they stream: is the tree right after ten seconds, how soon is a slip or a swap told and of the right
sensors, is anything told that did not happen, and what does a solve cost?
"""

from __future__ import annotations

import json
from argparse import Namespace
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import asdict, dataclass, field, replace
from hashlib import sha256
from multiprocessing import get_context
from pathlib import Path
from tempfile import gettempdir

import numpy as np

import condyle
from condyle.io.log_records import FRAME_RECORD, LAYOUT, Layout, LogRecord, encode_frame, encode_layout
from condyle.live.alarms import SUSPICION_CODE, Alarm
from condyle.live.clock import Stamp
from condyle.live.session import Session
from condyle.live.solver import CONFIRM_PERIOD_S, SOLVE_PERIOD_S
from condyle.live.source import Packet
from condyle.live.watch import LOOK_PERIOD_S, Watch
from condyle.maths import rotation
from condyle.maths.arrays import Floats
from condyle.model.recording import Convention
from condyle.model.take import Take
from condyle.simulate import SensorSlip, human, simulate
from condyle.simulate.seeds import stream

from .bound import CM, noise
from .coverage import SOFT
from .harness import Table, arguments, percent, progress, publish

EVENT_AT_S, SESSION_S, RATE_HZ = 30.0, 44.0, 60.0
TREE_AT_S = 10.0
SWAP_AT_S = 31.3  # between two solves, as it comes
EVENTS = ("2 cm", "1 cm", "swap")
LONG_S, LONG_SESSIONS = 300.0, 16  # s of a session in which nothing happens, and how many of them
WORKERS = 2  # processes; each solve has one thread
STORE = Path(gettempdir()) / "condyle-live-sessions"  # sessions that were measured: a run that was cut goes on there


@dataclass(frozen=True)
class Streaming:
    name: str
    motion: str


CASES = (Streaming("exercise", "exercise"), Streaming("walk", "walk"))
LONG = (Streaming("exercise, five minutes", "exercise"), Streaming("walk, five minutes", "walk"))


@dataclass
class Told:
    """Over sessions: whether the tree was right in time; by event s after which it was told (inf: never) and whether of
    the right sensors; alarms that nothing caused, what single looks told without a cause that the next did not
    confirm, hours without a cause, and CPU [s] of every solve.
    """

    tree: list[bool] = field(default_factory=list)
    delay: dict[str, list[float]] = field(default_factory=lambda: {event: [] for event in EVENTS})
    right: dict[str, list[bool]] = field(default_factory=lambda: {event: [] for event in EVENTS})
    false: list[str] = field(default_factory=list)
    unconfirmed: list[str] = field(default_factory=list)
    hours: float = 0.0
    cpu: list[float] = field(default_factory=list)

    def add(self, other: Told) -> None:
        """Another session's."""
        self.tree, self.false, self.cpu = self.tree + other.tree, self.false + other.false, self.cpu + other.cpu
        self.unconfirmed += other.unconfirmed
        self.hours += other.hours
        for event in EVENTS:
            self.delay[event] += other.delay[event]
            self.right[event] += other.right[event]


@dataclass(eq=False)
class Streamed:
    """A session that is fed from a take, with the watch of its newest seconds: one solve and one look when due."""

    layout: Layout
    session: Session = field(default_factory=Session)
    watch: Watch = field(default_factory=Watch)
    due: float = SOLVE_PERIOD_S
    look: float = LOOK_PERIOD_S
    cpu: list[float] = field(default_factory=list)

    def branch(self) -> Streamed:
        """The same session, that goes on by itself."""
        own, watch = self.session.excerpt, self.watch
        excerpt = replace(own, _stretches={key: list(rows) for key, rows in own._stretches.items()})
        session = replace(self.session, excerpt=excerpt, coach=replace(self.session.coach))
        session._slips, session._alarms = list(self.session._slips), list(self.session._alarms)
        rings = {word: ring.copy() for word, ring in watch._rings.items()}
        lists = {"_events": list(watch._events), "_past": list(watch._past), "_told_at": dict(watch._told_at)}
        return replace(self, session=session, watch=replace(watch, _rings=rings, **lists))

    def feed(self, take: Take, start: float, stop: float) -> Iterator[tuple[float, list[Alarm]]]:
        """Frames from one time to another [s]; gives the alarms that are new whenever it was looked at."""
        rows, frames = rows_of(take), np.flatnonzero((take.time >= start) & (take.time < stop))
        for k in frames.tolist():
            time = float(take.time[k])
            if time >= self.look:
                self.look += LOOK_PERIOD_S
                yield time, self.watch.look([], time)
            if time >= self.due:
                found = self.session.solve()
                self.due = time + (CONFIRM_PERIOD_S if self.session.is_waiting else SOLVE_PERIOD_S)
                self.cpu.append(found.cpu)
                self.newest = found
                yield time, list(found.raised)
            self.session.add(LogRecord(FRAME_RECORD, memoryview(encode_frame(0, 0, time, time, rows[k]))))
            self.watch.listen(Packet(self.layout, time, time, rows[k]), Stamp("new", time, 0.0, 0))


def begin_session(take: Take) -> Streamed:
    layout = Layout("demo", take.names, convention=Convention("wxyz", unit="m", stated=frozenset({"rotation", "unit"})))
    begun = Streamed(layout)
    begun.session.add(LogRecord(LAYOUT, memoryview(encode_layout(0, layout))))
    return begun


def rows_of(take: Take) -> Floats:
    """(n, 7 m) the numbers of every frame as a source sends them."""
    turn = rotation.to_quaternion(take.R_world_body).reshape(take.frames, -1)
    return np.concatenate([take.p_world_body.reshape(take.frames, -1), turn], axis=1)


def measure_long(case: Streaming, seed: int) -> Told:
    """A session in which nothing happens."""
    told, how = Told(), noise(0.15, 0.15, **SOFT)
    take = simulate(human(), case.motion, seconds=LONG_S, rate=RATE_HZ, seed=seed, disturbances=how).take  # type: ignore[arg-type]
    begun = begin_session(take)
    begun.cpu = told.cpu
    for time, raised in begun.feed(take, 0.0, LONG_S):
        note_false(seed, time, raised, begun, told)
    told.hours = LONG_S / 3600
    return told


def note_false(seed: int, time: float, raised: Sequence[Alarm], begun: Streamed, told: Told) -> None:
    """Takes down what is told while nothing happens."""
    told.false += [f"{seed} at {time:.1f} s: {one.finding.text}" for one in raised]
    waiting = [one for one in (*begun.session._alarms, *begun.watch._events) if one.raised is None]
    heard = [f"{seed}: {one.finding.text}" for one in waiting if one.finding.code != SUSPICION_CODE]
    told.unconfirmed += [text for text in heard if text not in told.unconfirmed]


def measure(case: Streaming, seed: int) -> Told:
    """A session is streamed once up to the event, and from there once with each."""
    told = Told()
    rng, figure = stream(seed, "slip"), human()
    body = figure.names[rng.integers(len(figure.names))]
    way = rng.standard_normal(3)
    way /= np.linalg.norm(way)
    other = str(rng.choice([name for name in figure.names if name != body]))

    def world(size: float, case=case, seed=seed, body=body, way=way, figure=figure):  # type: ignore[no-untyped-def]
        slips = (SensorSlip(body, EVENT_AT_S, tuple(size * way)),) if size else ()
        how = noise(0.15, 0.15, **SOFT, slips=slips)
        return simulate(figure, case.motion, seconds=SESSION_S, rate=RATE_HZ, seed=seed, disturbances=how)

    clean = world(0.0)
    tree = {frozenset(edge) for edge in clean.truth.edges}
    begun = begin_session(clean.take)
    begun.cpu = told.cpu
    looked = False
    for time, raised in begun.feed(clean.take, 0.0, EVENT_AT_S):
        note_false(seed, time, raised, begun, told)
        if time >= TREE_AT_S and not looked and hasattr(begun, "newest"):
            looked = True
            found = begun.newest.skeleton
            joints = () if found is None else found.joints
            told.tree.append({frozenset((joint.parent, joint.child)) for joint in joints} == tree)
    told.hours += EVENT_AT_S / 3600
    takes = {
        "2 cm": world(2 * CM).take,
        "1 cm": world(1 * CM).take,
        "swap": exchange_sensors(clean.take, body, other),
    }
    for event, take in takes.items():
        _follow(event, begun.branch(), take, {body, other} if event == "swap" else {body}, told)
    return told


def exchange_sensors(take: Take, one: str, other: str) -> Take:
    """The take with two sensors that report each other's poses from a moment on."""
    R, p = take.R_world_body.copy(), take.p_world_body.copy()
    a, b, rows = take.index(one), take.index(other), take.time >= SWAP_AT_S
    for values in (R, p):
        values[rows, a], values[rows, b] = values[rows, b].copy(), values[rows, a].copy()
    return replace(take, R_world_body=R, p_world_body=p)


def _follow(event: str, begun: Streamed, take: Take, bodies: set[str], told: Told) -> None:
    """Streams on until the event is told, and takes down how late and of which sensors."""
    code, when = ("swap", SWAP_AT_S) if event == "swap" else ("slip", EVENT_AT_S)
    for time, raised in begun.feed(take, EVENT_AT_S, SESSION_S):
        for alarm in raised:
            if alarm.finding.code == code and time > when:
                told.delay[event].append(time - when)
                told.right[event].append(set(alarm.finding.bodies) == bodies)
                return
    told.delay[event].append(np.inf)


def _warm_up() -> None:
    """What a process imports for its first solve is not counted."""
    begun = begin_session(simulate(human(), "exercise", seconds=3.0, rate=30.0, seed=1).take)
    for _ in begun.feed(simulate(human(), "exercise", seconds=3.0, rate=30.0, seed=1).take, 0.0, 3.0):
        pass


def describe(event: str, told: Told) -> str:
    delay, right = told.delay[event], told.right[event]
    if not delay:
        return "-"
    late = np.percentile(delay, 90, method="higher")
    return f"{np.median(delay):.1f} s, {late:.1f} s; {percent(np.mean(right)) if right else '-'}"


def main() -> None:
    given = arguments(__doc__, trials=40)
    jobs = [(measure, case, given.seed + k) for k in range(given.trials) for case in CASES if given.only in case.name]
    jobs += [
        (measure_long, case, given.seed + k)
        for k in range(LONG_SESSIONS // 2)
        for case in LONG
        if given.only in case.name
    ]
    found: dict[str, Told] = {}
    with ProcessPoolExecutor(WORKERS, get_context("spawn"), _warm_up) as pool:
        running = [(case, pool.submit(recall, run, case, seed)) for run, case, seed in jobs]
        for number, (case, one) in enumerate(running, 1):
            found.setdefault(case.name, Told()).add(one.result())
            progress(f"{number} of {len(running)}: {case.name}")
    tell(found, given)


def recall(run: Callable[[Streaming, int], Told], case: Streaming, seed: int) -> Told:
    """What a session of this very code told, measured where it was not before."""
    code = hash_sources(Path(condyle.__file__).parent, Path(__file__))
    place = STORE / f"{code}-{case.name}-{seed}.json"
    if not place.is_file():
        STORE.mkdir(exist_ok=True)
        told = run(case, seed)
        place.write_text(json.dumps(asdict(told)))
    return Told(**json.loads(place.read_text()))


def hash_sources(*places: Path) -> str:
    """A word that changes with any line of these files, or files in these folders."""
    files = sorted(one for place in places for one in ([place] if place.is_file() else place.rglob("*.py")))
    return sha256(b"".join(one.read_bytes() for one in files)).hexdigest()[:16]


def tell(found: dict[str, Told], given: Namespace) -> None:
    """Writes the table."""
    rows = [
        [
            name,
            f"{sum(told.tree)} of {len(told.tree)}" if told.tree else "-",
            *(describe(event, told) for event in EVENTS),
            f"{len(told.false)} in {told.hours:.2f} h",
            f"{len(told.unconfirmed)}",
            f"{np.median(told.cpu):.2f} s, {max(told.cpu):.2f} s",
        ]
        for name, told in found.items()
    ]
    data = {name: vars(told) for name, told in found.items()}
    heads = [
        "session",
        "tree at 10 s",
        "slip of 2 cm told after: median, 90 %; right sensor",
        "slip of 1 cm",
        "two sensors exchanged",
        "false alarms",
        "told by one look, not confirmed",
        "CPU of a solve: median, most",
    ]
    how = (
        f"A simulated person of 15 sensors under 5 mm of skin at {RATE_HZ:g} Hz, solved every {SOLVE_PERIOD_S:g} s "
        f"({CONFIRM_PERIOD_S:g} s while an alarm waits to be confirmed) and watched every {LOOK_PERIOD_S:g} s. "
        f"Each session is streamed to {EVENT_AT_S:g} s, and from there once with "
        f"each event: a sensor that slips, two that report each other's poses from {SWAP_AT_S:g} s on. A delay is from "
        "the event to the frame at which the alarm is raised; the solve's own time comes on top."
    )
    if any(case.name in found for case in LONG):
        how += " In the sessions of five minutes nothing happens."
    publish("live", "Sessions as they stream", how, {"Sessions": Table(heads, rows)}, data, given)


if __name__ == "__main__":
    main()
