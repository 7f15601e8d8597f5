"""What a figure's writer is given, what it gives back, and how it makes itself known."""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property
from pathlib import Path

from ...findings import Finding
from ...model.motion import Motion, on_axes
from ...model.skeleton import Skeleton
from ...model.take import Take
from ...model.values import dataclass
from .build_figure import build_figure
from .figure import Figure
from .registry import Names
from .rigs import RIGS, pose_rig


@dataclass(frozen=True, eq=False)
class Scene:
    """A skeleton in motion, as all formats are written from it.

    take   measured poses, where they are known
    names  "anatomy": bones are called as their segments are where body names tell them; "bodies": as the bodies; a
           rig's: as that rig has it
    up     axis of the world that points up, to overrule the recording; None: as the recording says
    body_mass  [kg] of the person, for formats that hold masses; None: that of the shapes at the density of water
    """

    skeleton: Skeleton
    motion: Motion
    take: Take | None = None
    names: Names = "anatomy"
    up: str | None = None
    body_mass: float | None = None

    @cached_property
    def figure(self) -> Figure:
        """With the rotations as they are, in the rest pose of the rig whose names it has: for formats of bones."""
        figure = build_figure(self.skeleton, self.motion, self.names, self.up)
        return pose_rig(figure, RIGS[self.names]) if self.names in RIGS else figure

    @cached_property
    def figure_on_axes(self) -> Figure:
        """With joints kept to their axes, rigid ones still and sliders in the tree: for formats with kinds of joints,
        whose angles count from the same pose whatever the names are."""
        moved = on_axes(self.skeleton, self.motion)
        return build_figure(self.skeleton, moved, self.names, self.up, machines=True)


@dataclass(frozen=True)
class Written:
    """The files that were written, and what there is to say about them."""

    files: tuple[Path, ...]
    findings: tuple[Finding, ...] = ()


@dataclass(frozen=True)
class FigureFormat:
    """One format that figures are written in.

    write  writes `path`, whose name ends in `suffix`, and files beside it whose names begin with its stem. Where it
           fails, what it wrote is thrown away
    check  raises where this scene cannot be written at all (a missing extra, a forest), before anything is
    suits  whether it would hold anything of this scene; where not, "all" leaves it out
    """

    name: str
    title: str
    suffix: str
    write: Callable[[Scene, Path], Written]
    check: Callable[[Scene], None] | None = None
    suits: Callable[[Scene], bool] | None = None


def number_file(path: Path, number: int) -> Path:
    """The file of one segment: the first has the plain name, others their number behind it."""
    return path if number == 1 else path.with_name(f"{path.stem}-{number}{path.suffix}")
