"""What markers are called: the side and the place on a person that a label means, and the marker set it belongs to.

The names stand in marker_sets.toml.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Sequence
from functools import cache
from importlib.resources import files
from typing import NamedTuple

from ..model.anatomy import Side
from ..model.values import dataclass

COMMON = "common"
LIKE = "like"  # key of the set that a set extends
COMPUTED = "computed"
NONE = "none"
MIDDLE = ("pelvis", "thorax", "head")  # places without a side
NO_SIDE = "_middle"  # ends a place whose names have no side
WORD_MIN_LETTERS = 4  # letters from which a name without a side may be that of a limb
SET_MIN_SHARE = 0.5  # of a set's own places that a file must name, and of the file's names that the set must explain
_SIDES: dict[str, Side] = {"l": "l", "left": "l", "lt": "l", "r": "r", "right": "r", "rt": "r"}
_NUMBER = re.compile(r"\W*\d*|[a-z]?\d+|(?:m|mk|marker|point|traj\w*)[\W_]*\d*", re.IGNORECASE)
_VERTEBRA = re.compile(r"[CTLS]\d{1,2}", re.IGNORECASE)


class Spelling(NamedTuple):
    """One way to read a label: its side, and the rest in lower case without separators."""

    side: Side
    key: str


class MarkerMeaning(NamedTuple):
    """Where a marker sits."""

    side: Side
    place: str


@dataclass(frozen=True)
class MarkerNames:
    """What the labels of a recording mean.

    title     the marker set, "" where they are of none
    explained how many of the worn markers the set names
    worn      labels that name a marker: neither computed points nor mere numbers
    meaning   {label: side and place} of those that are known
    computed  points that a program computed
    """

    title: str
    explained: int
    worn: tuple[str, ...]
    meaning: dict[str, MarkerMeaning]
    computed: tuple[str, ...]


@dataclass(frozen=True)
class _MarkerSet:
    own: tuple[tuple[str, re.Pattern[str]], ...]
    more: tuple[tuple[str, re.Pattern[str]], ...]

    @property
    def every(self) -> tuple[tuple[str, re.Pattern[str]], ...]:
        return (*self.own, *self.more)

    def at(self, place: str) -> _MarkerSet:
        """Its own names of one place."""
        return _MarkerSet(tuple(one for one in self.own if one[0] == place), ())


def name_markers(labels: Sequence[str]) -> MarkerNames:
    """What labels mean, by the marker set that explains them best and by common words."""
    common = _marker_sets()[COMMON]
    prefix = find_shared_prefix(labels)
    spelt = {label: spell(without_subject(label).removeprefix(prefix)) for label in labels if not is_mere_number(label)}
    plain = [ways for ways in spelt.values() if _find(ways, common, computed=True) is None]
    title, chosen = _choose_set(plain)
    tables = [common] if chosen is None else [chosen, common]
    computed = tuple(label for label, ways in spelt.items() if _find_any(ways, tables, computed=True) is not None)
    worn = tuple(label for label in spelt if label not in set(computed))
    meaning = {label: found for label in worn if (found := _find_any(spelt[label], tables)) is not None}
    explained = 0 if chosen is None else sum(_find(spelt[label], chosen) is not None for label in worn)
    return MarkerNames(title, explained, worn, meaning, computed)


def without_subject(label: str) -> str:
    return label.rpartition(":")[2].strip()


def subject_of(label: str) -> str:
    return label.rpartition(":")[0].strip()


def is_mere_number(label: str) -> bool:
    """Whether a label only counts: *12, M003, Marker 4."""
    name = without_subject(label)
    return _NUMBER.fullmatch(name) is not None and _VERTEBRA.fullmatch(name) is None


def spell(label: str) -> list[Spelling]:
    """The ways to read a label, the likeliest first."""
    bare = re.sub(r"[\W_]+study$", "", without_subject(label))
    words = [word for word in re.split(r"[\W_]+", bare) if word]
    whole = "".join(words)
    low = whole.lower()
    found: list[Spelling] = []
    sides = [k for k, word in enumerate(words) if word.lower() in _SIDES]
    if len(sides) == 1 and len(words) > 1:
        rest = "".join(word for k, word in enumerate(words) if k != sides[0])
        return [Spelling(_SIDES[words[sides[0]].lower()], rest.lower())]
    for word in ("left", "right"):
        if low.startswith(word):
            found.append(Spelling(_SIDES[word], low.removeprefix(word)))
        elif low.endswith(word):
            found.append(Spelling(_SIDES[word], low.removesuffix(word)))
    if low[:1] in _SIDES:
        found.append(Spelling(_SIDES[low[0]], low[1:]))
    inner = re.search(r"(?<=[a-z])[LR](?=[A-Z]|$)", whole)  # WaistLFront, TempleL
    if inner:
        found.append(Spelling(_SIDES[inner.group().lower()], (whole[: inner.start()] + whole[inner.end() :]).lower()))
    found.append(Spelling("", low))
    return [one for one in found if one.key]


@cache
def _marker_sets() -> dict[str, _MarkerSet]:
    content = tomllib.loads((files(__package__) / "marker_sets.toml").read_text(encoding="utf-8"))
    own = {
        title: tuple(
            (place, _pattern(word)) for place, words in places.items() if place != LIKE for word in words.split()
        )
        for title, places in content.items()
    }
    return {
        title: _MarkerSet(own[title], own[places[LIKE]] if LIKE in places else ()) for title, places in content.items()
    }


def _pattern(word: str) -> re.Pattern[str]:
    marks = {"#": r"\d+", "*": ".*", "?": "."}
    return re.compile("".join(marks.get(letter, letter) for letter in word))


def _find(spellings: Sequence[Spelling], table: _MarkerSet, computed: bool = False) -> MarkerMeaning | None:
    for side, key in spellings:
        for place, pattern in table.every:
            if (place == COMPUTED) != computed or not pattern.fullmatch(key):
                continue
            if computed or _may_have(side, place, key):
                where = place.removesuffix(NO_SIDE)
                return MarkerMeaning("" if where in MIDDLE else side, where)
    return None


def _find_any(
    spellings: Sequence[Spelling], tables: Sequence[_MarkerSet], computed: bool = False
) -> MarkerMeaning | None:
    return next((found for table in tables if (found := _find(spellings, table, computed)) is not None), None)


def _may_have(side: Side, place: str, key: str) -> bool:
    if place.endswith(NO_SIDE):
        return side == ""
    return bool(side) or place in MIDDLE or len(re.findall(r"[a-z]", key)) >= WORD_MIN_LETTERS


def _choose_set(spelt: Sequence[Sequence[Spelling]]) -> tuple[str, _MarkerSet | None]:
    """The set of which the file has most and that explains most of the file's names; none where either is too few."""
    best, title, chosen = 0.0, "", None
    for name, table in _marker_sets().items():
        if name == COMMON or not spelt:
            continue
        explained = sum(_find(one, table) is not None for one in spelt) / len(spelt)
        wanted = {place for place, _ in table.own if place not in (COMPUTED, NONE)}
        there = sum(any(_find(one, table.at(place)) is not None for one in spelt) for place in wanted) / len(wanted)
        if min(explained, there) >= SET_MIN_SHARE and explained * there > best:
            best, title, chosen = explained * there, name, table
    return title, chosen


def find_shared_prefix(labels: Sequence[str]) -> str:
    """What stands before every name, up to a separator: Skeleton_Hip1, Q_LKneeOut; a side is none."""
    plain = [without_subject(label) for label in labels if not is_mere_number(label)]
    first = re.match(r"[^\W_]+_", plain[0]) if len(plain) > 2 else None
    if first is None or first.group()[:-1].lower() in _SIDES:
        return ""
    return first.group() if all(name.startswith(first.group()) for name in plain) else ""
