"""index.html: all takes and performers of a study at a glance, each linked to its page; opened without a server."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from html import escape
from importlib.resources import files
from pathlib import Path
from urllib.parse import quote

from .._version import __version__
from ..findings import many
from ..io import REPORT
from ..io.atomic import open_atomic
from ..result.verdict import describe_share
from .ledger import LedgerRecord, LimbFacts
from .plan import TAKES, TakeStep

INDEX = "index.html"
MOST_FIRST = 40  # takes that are told to be looked at first; the table has all of them
MOST_OPEN = 4  # performers whose lengths are shown without a click
MOST_SESSIONS = 8  # calibrations of a performer that are drawn; the table of lengths has all of them
PLOT_WIDTH, ROW_HEIGHT = 144.0, 9.0  # px
SHORTEST_SCALE_M = 0.01  # m that a plot of intervals shows at least, so that small differences look small
# What a take came to, as it is shown, the worst first.
TONES = {"failed": "failed", "bad": "bad", "look": "look at it", "waiting": "not done yet", "good": "good"}

Read = Callable[[TakeStep], LedgerRecord | None]
LengthName = tuple[str, str, str, tuple[str, ...]]  # a body, two of its neighbours, and those whose joint is an axis


def write_index(folder: Path, steps: Sequence[TakeStep], read: Read, notes: Sequence[str]) -> Path:
    """Writes the page, whole or not at all; `read` gives what is known of a take."""
    template = (files(__package__) / INDEX).read_text(encoding="utf-8")
    head, rest = template.split("<!-- title -->")
    style, tail = rest.split("<!-- body -->\n")
    tones = [_tone(read(step)) for step in steps]
    with open_atomic(folder / INDEX) as stream:
        for part in (
            head,
            f"{_text(folder.name)}: condyle study",
            style,
            *_describe_head(folder, tones, notes),
            *_describe_first(steps, tones, read),
            *_describe_performers(steps, read),
            *_describe_takes(steps, tones, read),
            _describe_foot(),
            tail,
        ):
            stream.write(part.encode("utf-8", "replace"))
    return folder / INDEX


def _tone(record: LedgerRecord | None) -> str:
    if record is None:
        return "waiting"
    return "failed" if record.facts is None else record.facts.tone


def _text(words: object) -> str:
    """Text from a file, which may hold anything, as HTML."""
    return escape(str(words))


def _name(words: str) -> str:
    return f"<bdi>{_text(words)}</bdi>"


def _chip(tone: str) -> str:
    return f'<span class="tone {tone}">{TONES[tone]}</span>'


def _link(step: TakeStep, record: LedgerRecord | None) -> str:
    """The take's name, linked to its page, or to its folder where it has none."""
    if record is None or record.facts is None:
        return _name(step.name)
    page = REPORT if step.entry.settings.get("report", True) else ""
    return f'<a href="{quote(f"{TAKES}/{step.name}/{page}")}">{_name(step.name)}</a>'


def _describe_head(folder: Path, tones: Sequence[str], notes: Sequence[str]) -> Iterator[str]:
    counts = {tone: tones.count(tone) for tone in TONES}
    done = sum(counts[tone] for tone in ("good", "look", "bad"))
    words = [f"{done} of {many(len(tones), 'take')} done"]
    words += [f"{counts[tone]} {what}" for tone, what in (("failed", "failed"), ("waiting", "not yet")) if counts[tone]]
    told = [
        f"{counts[tone]} {what}"
        for tone, what in (("good", "good"), ("look", "to look at"), ("bad", "bad"))
        if counts[tone]
    ]
    yield f"<header>\n<h1>{_name(folder.name)}</h1>\n"
    yield f'<p class="sentence">{", ".join(words)}. {", ".join(told)}{"." * bool(told)}</p>\n'
    spans = [
        f'<span class="{tone}" style="flex-grow: {counts[tone]}" title="{counts[tone]} {TONES[tone]}"></span>'
        for tone in ("good", "look", "bad", "failed")
        if counts[tone]
    ]
    rest = f'<span style="flex-grow: {counts["waiting"]}"></span>' if counts["waiting"] else ""
    yield f'<div class="bar">{"".join(spans)}{rest}</div>\n'
    for note in notes:
        yield f'<p class="quiet notes">{_text(note)}</p>\n'
    yield "</header>\n"


def _describe_first(steps: Sequence[TakeStep], tones: Sequence[str], read: Read) -> Iterator[str]:
    """What to look at and what to record again: takes that failed, then the bad ones, then the others."""
    order = [tone for tone in TONES if tone not in ("waiting", "good")]
    first = [(step, tone) for wanted in order for step, tone in zip(steps, tones, strict=True) if tone == wanted]
    if not first:
        return
    yield '<section>\n<h2>What to look at, and what to record again</h2>\n<ul class="first">\n'
    for step, tone in first[:MOST_FIRST]:
        record = read(step)
        said = "".join(f"<p>{_text(one)}</p>" for one in _advise(record))
        yield f"<li><div>{_link(step, record)}<br>{_chip(tone)}</div><div>{said}</div></li>\n"
    yield "</ul>\n"
    if len(first) > MOST_FIRST:
        yield f'<p class="quiet">and {len(first) - MOST_FIRST} more in the table below</p>\n'
    yield "</section>\n"


def _advise(record: LedgerRecord | None) -> list[str]:
    if record is None or record.facts is None:
        return [record.fault.text] if record is not None and record.fault is not None else []
    facts = record.facts
    worst = [facts.worst.text] if facts.worst is not None else []
    more = [f"More motion would help: {'; '.join(facts.advice)}"] if facts.advice else []
    return [facts.text, *worst, *more]


def _describe_performers(steps: Sequence[TakeStep], read: Read) -> Iterator[str]:
    """Lengths of every performer with their intervals, one calibration beside the other."""
    by_performer: dict[str, list[TakeStep]] = {}
    for step in steps:
        if step.entry.performer:
            by_performer.setdefault(step.entry.performer, []).append(step)
    if not by_performer:
        return
    yield '<section>\n<h2>Performers</h2>\n<div class="performers">\n'
    for performer, own in by_performer.items():
        yield from _describe_performer(performer, own, read, shown=len(by_performer) <= MOST_OPEN)
    yield "</div>\n</section>\n"


def _describe_performer(performer: str, own: Sequence[TakeStep], read: Read, *, shown: bool) -> Iterator[str]:
    calibrations = [step for step in own if step.entry.role == "calibration"]
    kinds = [many(len(calibrations), "calibration")]
    if len(own) > len(calibrations):
        kinds.append(many(len(own) - len(calibrations), "performance"))
    records = [(step, read(step)) for step in calibrations]
    lengths = _collect_lengths(records[:MOST_SESSIONS])
    apart = sum(do_not_overlap(list(limbs.values())) for limbs in lengths.values())
    compared = sum(len(limbs) > 1 for limbs in lengths.values())
    kinds.append(many(len(lengths), "length"))
    if compared:
        kinds.append(f"{apart} of {compared} differ by more than their intervals" if apart else "all agree")
    yield f'<details class="performer{" apart" * bool(apart)}"{" open" * shown}>\n'
    yield f'<summary><b>{_name(performer)}</b> <span class="quiet">{", ".join(kinds)}</span></summary>\n'
    if lengths:
        scale = max(SHORTEST_SCALE_M, max(_span(list(limbs.values())) for limbs in lengths.values()))
        yield "<table>\n<thead><tr><th>length on</th><th>95 % intervals</th><th>mm</th></tr></thead>\n<tbody>\n"
        for key, limbs in lengths.items():
            yield _describe_length(key, limbs, scale)
        yield "</tbody>\n</table>\n"
        yield f'<p class="quiet">A plot is {1000 * scale:.0f} mm wide. Marked: intervals that do not all overlap.</p>\n'
    if len(records) > MOST_SESSIONS:
        yield f'<p class="quiet">and {len(records) - MOST_SESSIONS} more in limbs.csv</p>\n'
    if not lengths:
        yield '<p class="quiet">No length is known yet.</p>\n'
    yield "</details>\n"


def _collect_lengths(
    records: Iterable[tuple[TakeStep, LedgerRecord | None]],
) -> dict[LengthName, dict[str, LimbFacts]]:
    """{limb: {calibration: its length}}, of lengths that are known; one to an axis is another than one to a centre."""
    found: dict[LengthName, dict[str, LimbFacts]] = {}
    for step, record in records:
        for limb in record.facts.limbs if record is not None and record.facts is not None else ():
            if limb.length is not None:
                label = step.entry.session or step.name
                same = found.setdefault((limb.body, limb.from_body, limb.to_body, limb.axes), {})
                same[label if label not in same else step.name] = limb
    return found


def _bounds(limb: LimbFacts) -> tuple[float, float]:
    length = limb.length or 0.0
    return (length if limb.low is None else limb.low), (length if limb.high is None else limb.high)


def _span(limbs: Sequence[LimbFacts]) -> float:
    return max(_bounds(limb)[1] for limb in limbs) - min(_bounds(limb)[0] for limb in limbs)


def do_not_overlap(limbs: Sequence[LimbFacts]) -> bool:
    """Whether two of the intervals have no length in common."""
    known = [limb for limb in limbs if limb.low is not None and limb.high is not None]
    return len(known) > 1 and max(_bounds(limb)[0] for limb in known) > min(_bounds(limb)[1] for limb in known)


def _describe_length(key: LengthName, limbs: dict[str, LimbFacts], scale: float) -> str:
    body, first, last, axes = key
    told = [
        f"<span>{_format_length(limb)}"
        + (f' <span class="quiet">{_name(label)}</span></span>' if len(limbs) > 1 else "</span>")
        for label, limb in limbs.items()
    ]
    apart = ' class="apart"' if do_not_overlap(list(limbs.values())) else ""
    ends = " to ".join(_name(name) + " (axis)" * (name in axes) for name in (first, last))
    between = f'<br><span class="quiet">{ends}</span>'
    return (
        f"<tr{apart}><td>{_name(body)}{between}</td><td>{_draw(limbs, scale)}</td><td>{'<br>'.join(told)}</td></tr>\n"
    )


def _format_length(limb: LimbFacts) -> str:
    length = f"{1000 * (limb.length or 0.0):.1f}"
    if limb.low is None or limb.high is None:
        return length
    return f"{length} ({1000 * limb.low:.1f} to {1000 * limb.high:.1f})"


def _draw(limbs: dict[str, LimbFacts], scale: float) -> str:
    """Intervals below each other, `scale` [m] wide about their middle."""
    middle = (max(_bounds(limb)[1] for limb in limbs.values()) + min(_bounds(limb)[0] for limb in limbs.values())) / 2
    height = ROW_HEIGHT * (len(limbs) + 0.6)
    parts = []
    for k, (label, limb) in enumerate(limbs.items()):
        y = ROW_HEIGHT * (k + 0.8)
        low, high, at = (
            PLOT_WIDTH * (0.5 + 0.94 * (value - middle) / scale) for value in (*_bounds(limb), limb.length or 0.0)
        )
        parts.append(
            f"<g><title>{_text(label)}: {_format_length(limb)} mm</title>"
            f'<line x1="{low:.1f}" x2="{high:.1f}" y1="{y:.1f}" y2="{y:.1f}"/>'
            f'<circle cx="{at:.1f}" cy="{y:.1f}" r="2.6"/></g>'
        )
    return f'<svg viewBox="0 0 {PLOT_WIDTH:.0f} {height:.1f}" role="img">{"".join(parts)}</svg>'


def _describe_takes(steps: Sequence[TakeStep], tones: Sequence[str], read: Read) -> Iterator[str]:
    yield "<section>\n<h2>All takes</h2>\n"
    there = [tone for tone in TONES if tone in tones]
    buttons = "".join(f'<button data-tone="{tone}" aria-pressed="false">{TONES[tone]}</button>' for tone in there)
    yield (
        '<div class="filter" hidden><input type="search" placeholder="name, performer, finding" aria-label="search">'
        f'<button data-tone="" aria-pressed="true">all</button>{buttons}<output class="quiet"></output></div>\n'
    )
    people = any(step.entry.performer for step in steps)
    heads = ["take", *(["performer", "session", "role"] if people else []), "verdict", "worst finding"]
    heads += ["joints sure", "lengths within", "seconds"]
    yield (
        '<table class="takes">\n<thead><tr>'
        + "".join(f"<th>{head}</th>" for head in heads)
        + "</tr></thead>\n<tbody>\n"
    )
    for step, tone in zip(steps, tones, strict=True):
        yield _describe_take(step, tone, read(step), people=people)
    yield "</tbody>\n</table>\n</section>\n"


def _describe_take(step: TakeStep, tone: str, record: LedgerRecord | None, *, people: bool) -> str:
    entry = step.entry
    cells = [_link(step, record)]
    if people:
        cells += [_name(entry.performer), _name(entry.session) if entry.session else "", entry.role]
    numbers = {"joints sure": "", "lengths within": "", "seconds": ""}
    worst = ""
    if record is not None and record.facts is not None:
        facts = record.facts
        worst = (
            "" if facts.worst is None else f'{_text(facts.worst.text)} <span class="quiet">{facts.worst.code}</span>'
        )
        numbers["joints sure"] = f"{facts.sure} of {facts.count}" if facts.count else "none found"
        numbers["lengths within"] = "" if facts.length_95 is None else describe_share(facts.length_95)
        numbers["seconds"] = f"{facts.seconds:.1f}"
    elif record is not None and record.fault is not None:
        worst = f'{_text(record.fault.text)} <span class="quiet">{_text(record.fault.code)}</span>'
    wide = f"<td>{cells[0]}</td>" + "".join(f'<td class="short">{cell}</td>' for cell in (*cells[1:], _chip(tone)))
    plain = f"{wide}<td>{worst}</td>"
    told = "".join(
        f'<td class="number" data-head="{head}">{cell}</td>' if cell else '<td class="number"></td>'
        for head, cell in numbers.items()
    )
    return f'<tr data-tone="{tone}">{plain}{told}</tr>\n'


def _describe_foot() -> str:
    tables = ", ".join(f'<a href="{name}.csv">{name}.csv</a>' for name in ("takes", "joints", "limbs"))
    return f'<footer class="quiet">The same as tables: {tables}. Made by condyle {__version__}.</footer>\n'
