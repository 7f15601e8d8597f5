"""From the folder of a fit to its page: everything that is on it, as one value, and as one HTML file."""

from __future__ import annotations

import errno
import re
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from html import escape
from pathlib import Path

import msgspec
import numpy as np

from .._version import __version__
from ..errors import CondyleError, name_file
from ..io import REPORT
from ..io.atomic import write_atomic
from ..io.exports.build_figure import build_figure
from ..io.exports.figure import Figure
from ..io.folder import find_folder, stage_files
from ..io.motion_file import open_motion
from ..io.skeleton_file import read_skeleton
from ..maths.arrays import Floats, evenly
from ..model.anatomy import Part, find_segments
from ..model.clock import Clock
from ..model.motion import derive_motion, order_joints
from ..model.progress import begin_step
from ..model.skeleton import Skeleton
from ..model.take import Take
from . import facts
from .angles import show_angles
from .axes import show_chains
from .page_data import FORMAT, VERSION, Masked, PageData
from .recorded import list_slips, show_recorded
from .shown import MOTION_MAX_BYTES, MotionPieces, choose_packing, link_pieces, pack_pieces
from .turns import measure_turns

TEMPLATE = Path(__file__).with_name("page.html")  # the build puts it there
DATA_PLACE = b'<script type="application/json" id="condyle-data"></script>'
FRAMES_FOR_UP = 60
TRUNK_PARTS: tuple[Part, ...] = ("pelvis", "spine", "chest", "neck", "head")  # two of them tell a person's direction
# What could end the script, or a line of it. JSON has none of these letters outside its texts.
_ESCAPES = tuple((letter.encode(), f"\\u{ord(letter):04x}".encode()) for letter in "<>&\u2028\u2029")
_POLICY = re.compile(rb'http-equiv="Content-Security-Policy" content="([^"]*)"')
SAFE_HEADERS = {  # of every answer of a server: what a browser must not do with it
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Cross-Origin-Opener-Policy": "same-origin",
}
NO_PAGE_TEXT = (
    "this installation was built without its page; install condyle again without CONDYLE_NO_PAGE, or with "
    "uv sync --reinstall-package condyle"
)


def build_page(place: str | Path, *, linked: bool = False, most: int = MOTION_MAX_BYTES) -> PageData:
    """What the page of a folder shows, given as the folder that a fit wrote or as the skeleton.json in it.

    linked  the motion is fetched piece by piece from a server, and not part of the page
    most    bytes of packed motion in the page; every k-th frame is shown where all would take more
    """
    return assemble_page(*open_page(place), linked=linked, most=most)


def open_page(place: str | Path, skeleton: Skeleton | None = None) -> tuple[Skeleton, MotionPieces]:
    """The skeleton of a folder, parents before children, and its motion; the skeleton is read where it is not given."""
    skeleton = read_skeleton(place) if skeleton is None else skeleton
    with name_file(place):
        ordered = tuple(joint for _, _, joint in order_joints(skeleton))
    skeleton = replace(skeleton, joints=ordered)
    return skeleton, choose_packing(open_motion(place, skeleton))


def assemble_page(
    skeleton: Skeleton, shown: MotionPieces, *, linked: bool = False, most: int = MOTION_MAX_BYTES
) -> PageData:
    """See `build_page`."""
    if linked:
        pieces = link_pieces(shown)
    else:
        shown, pieces = pack_pieces(shown, most)
    clock, up = shown.clock, find_up(skeleton, partial(_make_figure, skeleton, shown))
    return msgspec.structs.replace(
        show_figure(skeleton, clock, shown.source.frames, shown.packing.gap, shown.gaps),
        title=facts.make_title(skeleton),
        masked=_list_masked(shown),
        made=facts.describe_making(skeleton, up, 1 / clock.step if clock.step > 0 else None, len(clock.first)),
        motion=shown.page(pieces, up),
        angles=show_angles(skeleton, shown, up),
        chains=show_chains(skeleton, shown),
        slips=list_slips(skeleton, clock),
        recorded=show_recorded(skeleton, shown),
        turns=() if skeleton.joints else measure_turns(skeleton, shown),
    )


def show_figure(skeleton: Skeleton, clock: Clock, frames: int, steps: Floats, gaps: Floats) -> PageData:
    """What a page shows of a figure that stands still.

    steps  (J,) [m] of joints, then loops, to which gaps are packed;  gaps (J, 3) [m] median, 95th percentile, largest
    """
    joints, loops = facts.list_joints(skeleton, steps, gaps)
    return PageData(
        format=FORMAT,
        version=VERSION,
        condyle=__version__,
        title="",
        verdict=facts.show_verdict(skeleton),
        seconds=facts.count_seconds(skeleton),
        frames=frames,
        bodies=facts.list_bodies(skeleton),
        joints=joints,
        loops=loops,
        connections=facts.list_connections(skeleton, clock),
        limbs=facts.list_limbs(skeleton),
        placements=facts.list_placements(skeleton),
        findings=facts.list_findings(skeleton, clock),
        masked=(),
        made=(),
        motion=None,
        angles=None,
    )


def find_up(skeleton: Skeleton, make_figure: Callable[[], Figure | None]) -> str | None:
    """The axis that points up, as the recording says or as a person's trunk tells in some frames; None: neither."""
    if skeleton.up is not None:
        return skeleton.up
    parts = find_segments(skeleton.bodies, skeleton.edges).values()
    if sum(segment.part in TRUNK_PARTS for segment in parts) < 2:
        return None
    figure = make_figure()
    if figure is None:  # none to be exported; the page can be shown all the same
        return None
    told = any(finding.code == "up-assumed" and finding.severity == "warning" for finding in figure.findings)
    return None if told else figure.up


def _make_figure(skeleton: Skeleton, shown: MotionPieces) -> Figure | None:
    """The figure in some frames of the played motion."""
    few = shown.few.at(evenly(len(shown.few.time), FRAMES_FOR_UP))
    played = Take(skeleton.bodies, np.arange(len(few.time), dtype=np.float64), few.R_played, few.p_played)
    try:
        return build_figure(skeleton, derive_motion(skeleton, played))
    except CondyleError:
        return None


def _list_masked(shown: MotionPieces) -> tuple[Masked, ...]:
    if not shown.masked:
        return ()
    body, first, last = np.array(shown.masked).T
    start = shown.clock.times(shown.source.time[first], first)
    end = shown.clock.times(shown.source.time[last], last)
    return tuple(Masked(*one) for one in zip(body.tolist(), start.tolist(), end.tolist(), strict=True))


def to_html(page: PageData, template: bytes | None = None, fit_id: str | None = None) -> bytes:
    """The page as one HTML file. Texts from files are escaped: they stay texts, whatever they hold.

    fit_id  stands in the head of the file as the content of <meta name="condyle-fit">
    """
    template = read_template() if template is None else template
    if fit_id is not None:
        mark = f'<meta name="condyle-fit" content="{escape(fit_id)}">'.encode()
        template = template.replace(b"<head>", b"<head>" + mark, 1)
    return fill_template(template, to_json(page))


def fill_template(template: bytes, data: bytes) -> bytes:
    """The template with JSON in the place of its data."""
    if template.count(DATA_PLACE) != 1:
        raise CondyleError("the page inside condyle has no place for its data; install condyle again", code="no-page")
    return template.replace(DATA_PLACE, DATA_PLACE.replace(b"></", b">" + data + b"</"))


def link_template() -> tuple[bytes, str]:
    """The page without data that may fetch from the server it came from, and the policy for that server's headers."""
    template = read_template().replace(b"connect-src 'none'", b"connect-src 'self'")
    found = _POLICY.search(template)
    return template, (found[1].decode("ascii") if found else "default-src 'self'") + "; frame-ancestors 'none'"


def describe_port_fault(port: int, error: OSError | OverflowError) -> CondyleError:
    """Why the server of a page cannot have a port, and the way out."""
    taken = isinstance(error, OSError) and error.errno == errno.EADDRINUSE
    what = "is in use by another program" if taken else f"cannot be used: {error}"
    return CondyleError(
        f"port {port} {what}; give another with --port, or leave it out for a free one", code="port-in-use"
    )


def to_json(page: PageData) -> bytes:
    """The page's data as JSON that can stand inside a script element."""
    data = msgspec.json.encode(page)
    for letter, escaped in _ESCAPES:
        data = data.replace(letter, escaped)
    return data


def read_template() -> bytes:
    """The page without data, as it was built into this installation; raises CondyleError where it was not."""
    try:
        return TEMPLATE.read_bytes()
    except OSError:
        raise CondyleError(NO_PAGE_TEXT, code="no-page") from None


def render_page(place: str | Path, skeleton: Skeleton | None = None) -> bytes:
    """report.html of the folder of a fit, given as the folder or as the skeleton.json in it.

    skeleton  that of the folder, where it has just been written
    """
    template = read_template()  # before the work
    begin_step("writing the page")
    skeleton, shown = open_page(place, skeleton)
    return to_html(assemble_page(skeleton, shown), template, skeleton.fit_id)


def write_page(place: str | Path, out: str | Path | None = None) -> Path:
    """Writes report.html for the folder of a fit, in that folder or as `out`; the whole file or nothing."""
    if out is not None:
        write_atomic(out, render_page(place))
        return Path(out)
    fit_id = read_skeleton(place).fit_id
    with stage_files(find_folder(place), fit_id) as stage:
        (stage.path / REPORT).write_bytes(render_page(place))
    return stage.folder / REPORT
