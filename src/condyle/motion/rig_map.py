"""Which bone of a given rig moves as which bone of a figure: by the names of known rigs, of people, or as told."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from ..errors import UsageError, suggest
from ..io.exports.figure import Figure
from ..io.exports.rigs import RIGS, Rig
from ..io.rigs.rig_file import RigFile
from ..model.anatomy import PERSON_MIN_PARTS, Segment, find_segments

_TRUNK = ("spine", "chest")


def map_bones(figure: Figure, rig: RigFile, told: Mapping[str, str] | None = None) -> dict[int, int]:
    """{bone of the rig: bone of the figure}, by names; what is told stands over that.

    told  {bone of the rig: body of the fit, or "" where it stays at rest}
    """
    found = _match_names(figure, rig) or _match_one_root(figure, rig)
    for bone, body in (told or {}).items():
        if not isinstance(bone, str) or not isinstance(body, str):
            raise UsageError(f"the map has {bone!r}: {body!r}; it takes names of bones and bodies", code="bad-call")
        if bone not in rig.names:
            raise UsageError(f"the rig has no bone '{bone}'; {suggest(bone, rig.names)}", code="unknown-body")
        if body and body not in figure.bodies:
            raise UsageError(f"the fit has no body '{body}'; {suggest(body, figure.bodies)}", code="unknown-body")
        k, own = rig.names.index(bone), figure.bodies.index(body) if body else -1
        found = {row: column for row, column in found.items() if row != k and column != own}
        if body:
            if any(other == body and key != bone for key, other in (told or {}).items()):
                raise UsageError(f"'{body}' is told to move two bones of the rig; name it once", code="bad-call")
            found[k] = own
    if len(found) < 2:
        raise UsageError(
            f"no two bones of the rig have names that tell which bodies move them ({', '.join(rig.names[:6])}, ...); "
            'say so in a file for --map: [bones] and lines like "bone of the rig" = "body of the fit"',
            code="bad-call",
        )
    roots = {find_root(rig, bone) for bone in found}
    if len(roots) > 1:
        named = " and ".join(f"'{rig.names[root]}'" for root in sorted(roots)[:2])
        raise UsageError(f"the map has bones under {named}; a motion goes onto one root of the rig", code="bad-map")
    _check_limbs(figure, rig, found)
    return dict(sorted(found.items()))


def _check_limbs(figure: Figure, rig: RigFile, bones: Mapping[int, int]) -> None:
    """Raises where a limb of the rig begins as one side of the figure and goes on as the other."""
    for bone, k in bones.items():
        up = int(rig.parent[bone])
        while up >= 0 and up not in bones:
            up = int(rig.parent[up])
        if up >= 0 and {figure.sides[k], figure.sides[bones[up]]} == {"l", "r"}:
            raise UsageError(
                f"'{rig.names[bone]}' is to move as {figure.bodies[k]} and '{rig.names[up]}' above it as "
                f"{figure.bodies[bones[up]]}; a limb of the rig takes one side of the figure: correct the map",
                code="bad-map",
            )


def find_crossed(figure: Figure, rig: RigFile, bones: Mapping[int, int]) -> list[tuple[int, int]]:
    """(bone of the rig, bone of the figure) that are on different sides by their names."""
    segments = find_rig_segments(rig)
    sides = {bone: segments[bone].side for bone in bones if bone in segments}
    return [(bone, bones[bone]) for bone, side in sides.items() if {side, figure.sides[bones[bone]]} == {"l", "r"}]


def find_root(rig: RigFile, bone: int) -> int:
    """The root that a bone hangs on."""
    while rig.parent[bone] >= 0:
        bone = int(rig.parent[bone])
    return bone


def _match_one_root(figure: Figure, rig: RigFile) -> dict[int, int]:
    """Bones by the parts of a person that their names tell, of the root under which most are; the first of equals."""
    segments = find_rig_segments(rig)
    every = [
        _match_segments(figure, {k: one for k, one in segments.items() if find_root(rig, k) == root})
        for root in np.flatnonzero(rig.parent < 0).tolist()
    ]
    return max(every, key=len)


def find_rig_segments(rig: RigFile) -> dict[int, Segment]:
    """{bone of the rig: which part of a person it is}, by the list of names that tells most bones."""
    names = rig.known_as
    up = [names[k] if k >= 0 else "" for k in rig.parent.tolist()]
    plain = find_segments(names, [(above, name) for name, above in zip(names, up, strict=True) if above])
    best = {names.index(name): segment for name, segment in plain.items()}
    for preset in RIGS.values():
        own = _read_preset(names, preset)
        if len(own) > len(best):
            best = own
    parts = {segment.part for segment in best.values()}
    return best if len(parts) >= PERSON_MIN_PARTS else {}


def _read_preset(names: Sequence[str], preset: Rig) -> dict[int, Segment]:
    """What a known rig means by its names; what stands before a colon does not count, nor does case."""
    meaning: dict[str, Segment] = {}
    for part, words in preset.parts.items():
        for side, word in (("l", preset.sides[0]), ("r", preset.sides[1])):
            for name in words:
                middle = "{side}" not in name
                meaning[_plain(name.format(side=word))] = Segment(part, "" if middle else side)  # type: ignore[arg-type]
    bare = [_plain(name) for name in names]
    trunk = [name for name in map(_plain, preset.trunk) if name in bare]
    meaning |= {name: Segment("chest" if name == trunk[-1] else "spine") for name in trunk}
    return {k: meaning[name] for k, name in enumerate(bare) if name in meaning}


def _plain(name: str) -> str:
    return name.rsplit(":", 1)[-1].lower()


def _match_names(figure: Figure, rig: RigFile) -> dict[int, int]:
    """Bones of a rig that are called as the bodies of one figure, where most of the figure's are."""
    tree = [k for k in range(len(figure.names)) if figure.root[k] == figure.root[0]]
    found = {rig.names.index(figure.bodies[k]): k for k in tree if figure.bodies[k] in rig.names}
    return found if 2 * len(found) > len(tree) else {}


def _match_segments(figure: Figure, segments: Mapping[int, Segment]) -> dict[int, int]:
    """{bone of the rig: bone of the figure} of the first person: part by part, from the trunk outwards."""
    if not figure.people:
        return {}
    own: dict[Segment, list[int]] = {}
    for k in figure.people[0]:
        if figure.parts[k]:
            own.setdefault(Segment(figure.parts[k], figure.sides[k]), []).append(k)  # type: ignore[arg-type]
    theirs: dict[Segment, list[int]] = {}
    for k in sorted(segments):
        theirs.setdefault(segments[k], []).append(k)
    found: dict[int, int] = {}
    for segment, rows in theirs.items():
        if segment.part not in _TRUNK:
            found |= dict(zip(rows, own.get(segment, ()), strict=False))
    return found | _match_trunk(theirs, own)


def _match_trunk(theirs: Mapping[Segment, list[int]], own: Mapping[Segment, list[int]]) -> dict[int, int]:
    """Chest with chest, spines spread over those of the rig; without a chest on either side the last spine is it."""
    rows = [k for part in _TRUNK for k in theirs.get(Segment(part), ())]  # type: ignore[arg-type]
    columns = [k for part in _TRUNK for k in own.get(Segment(part), ())]  # type: ignore[arg-type]
    if not rows or not columns:
        return {}
    fewer = min(len(rows), len(columns))

    def spread(bones: list[int]) -> list[int]:
        """As many as the shorter has, evenly, the uppermost among them."""
        return [bones[round((k + 1) * len(bones) / fewer) - 1] for k in range(fewer)]

    return dict(zip(spread(rows), spread(columns), strict=True))
