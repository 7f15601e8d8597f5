"""Xsens MVNX, versions 3 and 4: the poses of the segments and the joints of MVN's own skeleton; docs/formats/mvnx.md.

The XML is read as a stream. A document type is refused: it is where XML hides entities and other files.
"""

from __future__ import annotations

import codecs
from dataclasses import field
from pathlib import Path
from xml.parsers import expat

import numpy as np

from ...errors import CondyleError
from ...findings import Finding
from ...maths.arrays import Floats
from ...maths.spool import GrowingRows
from ...model.recording import Bodies, Convention, Recording
from ...model.take import OwnSkeleton
from ...model.values import dataclass
from ..format import Format, ReadOptions
from ..tables.rows import read_number
from ..tables.text import to_utf8
from ._kinematics import is_forest

XML_READ_AT_ONCE_BYTES = 2**18  # handed to the parser at once
LONGEST_XML_TAG_BYTES = 2**22  # between two events: one tag or comment, read again from its start with every chunk
DEEPEST_XML_ELEMENT = 64  # elements inside each other; MVNX has 7
LONGEST_XML_TEXT = 2**22  # characters of one element that is read; 23 quaternions have about 1,000
MOST_MVNX_SEGMENTS = 10_000
MVNX_STAMP_ROUNDING_S = 0.002  # s: stamps are whole milliseconds, and MVN rounds some of them the wrong way
PROGRAM = "Xsens MVN"

_TEXTS = ("orientation", "position", "pos_b", "pos_s", "connector1", "connector2")
_ENDS_EARLY = (
    expat.errors.XML_ERROR_NO_ELEMENTS,
    expat.errors.XML_ERROR_UNCLOSED_TOKEN,
    expat.errors.XML_ERROR_PARTIAL_CHAR,
    expat.errors.XML_ERROR_UNCLOSED_CDATA_SECTION,
)


def looks_like(head: bytes) -> bool:
    """The first element is <mvnx>, whatever comments stand before it."""
    text = to_utf8(head).lstrip()
    while text.startswith((b"<?", b"<!")):
        if text.startswith(b"<!DOCTYPE mvnx"):
            return True
        end = b"-->" if text.startswith(b"<!--") else b">"
        _, found, text = text.partition(end)
        if not found:
            return False
        text = text.lstrip()
    return text[:5] == b"<mvnx" and text[5:6] in (b" ", b"\t", b"\r", b"\n", b">")


def read(path: Path, options: ReadOptions) -> Recording:
    """Poses of all segments in the frames of type normal; calibration poses are skipped."""
    document = _parse(path)
    names, n = tuple(document.segments), len(document.stamps)
    if not n:
        raise CondyleError("no frame of type 'normal' with orientation and position", code="no-data")
    m = len(names)
    time, rate = _read_time(document)
    facts = {"length": "m", "rotation": "quaternion wxyz", "program": document.program or PROGRAM}
    if document.version:
        facts["MVNX"] = f"version {document.version}"
    if "configuration" in document.subject:
        facts["configuration"] = document.subject["configuration"]
    if document.fingers:
        facts["fingers"] = "not read"
    return Recording(
        bodies=Bodies(
            names,
            document.position.array().reshape(n, m, 3),
            document.orientation.array().reshape(n, m, 4),
        ),
        time=time,
        rate=rate,
        convention=Convention("wxyz", unit="m", up="z"),
        facts=facts,
        findings=tuple(_describe_truncation(document, n)),
        solved_by=PROGRAM,
        own=_find_own_skeleton(document),
    )


@dataclass
class _Document:
    """What the parser has met so far. segments {name: {point: (3,)}}; joints [(parent/point, child/point)]."""

    version: str = ""
    program: str = ""
    subject: dict[str, str] = field(default_factory=dict)
    segments: dict[str, dict[str, Floats]] = field(default_factory=dict)
    joints: list[tuple[str, str]] = field(default_factory=list)
    stamps: GrowingRows = field(default_factory=GrowingRows)  # time [ms] and index of each frame, NaN if absent
    orientation: GrowingRows = field(default_factory=GrowingRows)
    position: GrowingRows = field(default_factory=GrowingRows)
    fingers: bool = False
    cut: int | None = None  # line on which the file ends early


class _Handler:
    """Callbacks of expat: a stack of element names, the text of the few that are read, one frame at a time."""

    def __init__(self, parser: expat.XMLParserType) -> None:
        self.parser, self.document = parser, _Document()
        self.stack: list[str] = []
        self.text: list[str] | None = None
        self.length = 0
        self.point = ""
        self.connectors = ["", ""]
        self.frame: dict[str, str] | None = None  # attributes of a normal frame
        self.numbers: dict[str, list[float]] = {}
        parser.buffer_text = True
        parser.StartElementHandler = self.start
        parser.EndElementHandler = self.end
        parser.CharacterDataHandler = self.characters
        parser.StartDoctypeDeclHandler = self.doctype
        parser.EntityDeclHandler = self.doctype

    def fault(self, text: str, *, code: str) -> CondyleError:
        return CondyleError(text, code=code, line=self.parser.CurrentLineNumber)

    def doctype(self, *_: object) -> None:
        raise self.fault(
            "the XML declares a document type or entities, which are never followed; delete all from <!DOCTYPE "
            "to the > or ]> that ends it",
            code="xml-doctype",
        )

    def characters(self, data: str) -> None:
        if self.text is not None:
            self.length += len(data)
            if self.length > LONGEST_XML_TEXT:
                raise self.fault(f"<{self.stack[-1]}> holds more text than one frame can have", code="suspicious-size")
            self.text.append(data)

    def start(self, tag: str, attributes: dict[str, str]) -> None:
        tag = tag.rpartition(":")[2]
        self.stack.append(tag)
        if len(self.stack) > DEEPEST_XML_ELEMENT:
            raise self.fault(f"more than {DEEPEST_XML_ELEMENT} elements inside each other", code="damaged-file")
        if len(self.stack) == 1 and tag != "mvnx":
            raise self.fault(f"the first element is <{tag[:40]}>, not <mvnx>", code="bad-header")
        self.text, self.length = None, 0
        if tag in _TEXTS and (self.frame is not None or tag not in ("orientation", "position")):
            self.text = []
        elif tag == "frame":
            normal = attributes.get("type", "normal").strip().lower() == "normal"
            self.frame, self.numbers = (attributes if normal else None), {}
        elif tag == "segment":
            self.segment(attributes)
        elif tag == "point":
            self.point = attributes.get("label", "").strip()
        elif tag == "joint":
            self.connectors = ["", ""]
        elif tag == "mvnx":
            self.document.version = attributes.get("version", "")[:20]
        elif tag == "mvn":
            self.document.program = f"{PROGRAM} {attributes.get('version', '')[:40]}".strip()
        elif tag == "subject":
            if self.document.subject:
                raise self.fault("a second <subject>; export each person to an own file", code="several-subjects")
            self.document.subject = attributes
        elif tag.startswith("fingerTrackingSegments"):
            self.document.fingers = True

    def segment(self, attributes: dict[str, str]) -> None:
        if "segments" not in self.stack:  # those of the hands stand elsewhere, and so do their poses
            return
        name = attributes.get("label", "").strip()
        if not name:
            raise self.fault("a segment has no label", code="bad-name")
        if name in self.document.segments:
            raise self.fault(f"two segments are named '{name}'; names must differ", code="duplicate-name")
        if len(self.document.segments) >= MOST_MVNX_SEGMENTS:
            raise self.fault(f"more than {MOST_MVNX_SEGMENTS} segments", code="suspicious-size")
        self.document.segments[name] = {}

    def end(self, tag: str) -> None:
        tag = self.stack.pop()
        if self.text is not None:
            text, self.text = "".join(self.text), None
            if tag in ("connector1", "connector2"):
                self.connectors[tag == "connector2"] = text.strip()
            elif self.frame is not None:
                self.numbers[tag] = self.floats(text, tag, len(self.document.segments))
            elif self.document.segments and "segments" in self.stack:
                points = next(reversed(self.document.segments.values()))
                points[self.point] = np.array(self.floats(text, tag, 1))
        if tag == "frame":
            self.commit()
        elif tag == "joint" and all(self.connectors) and "joints" in self.stack:
            self.document.joints.append((self.connectors[0], self.connectors[1]))

    def floats(self, text: str, tag: str, count: int) -> list[float]:
        wanted = count * (4 if tag == "orientation" else 3)
        try:
            numbers = [float(word) for word in text.split()]
        except ValueError:
            word = next((word for word in text.split() if read_number(word) is None), "null")
            raise self.fault(f"'{word[:40]}' in <{tag}> is no number", code="bad-number") from None
        if len(numbers) != wanted or "_" in text:
            raise self.fault(
                f"{len(numbers)} numbers in <{tag}>, expected {wanted} for {count} segment{'s' * (count != 1)}",
                code="ragged-row",
            )
        return numbers

    def commit(self) -> None:
        """A whole frame: kept where it is of type normal and has both parts."""
        frame, self.frame = self.frame, None
        if frame is None or not self.numbers:
            return
        if len(self.numbers) < 2:
            missing = "position" if "orientation" in self.numbers else "orientation"
            raise self.fault(
                f"a frame without <{missing}>; export it with positions and orientations", code="no-positions"
            )
        document = self.document
        document.orientation.add(self.numbers["orientation"])
        document.position.add(self.numbers["position"])
        stamps = (read_number(frame.get(key, "")) for key in ("time", "index"))
        document.stamps.add([np.nan if stamp is None else stamp for stamp in stamps])


def _parse(path: Path) -> _Document:
    """The document; read as Latin-1 where it claims UTF-8 but is not."""
    try:
        return _run(path, None)
    except expat.ExpatError as error:
        if expat.errors.messages[error.code] == expat.errors.XML_ERROR_INVALID_TOKEN and not _is_utf8(path):
            try:
                return _run(path, "iso-8859-1")
            except expat.ExpatError as second:
                error = second
        why = expat.errors.messages[error.code]
        text = f"the XML is damaged ({why}); export the file again"
        raise CondyleError(text, code="damaged-file", line=error.lineno, column=error.offset + 1) from None


def _run(path: Path, encoding: str | None) -> _Document:
    parser = expat.ParserCreate(encoding)
    handler = _Handler(parser)
    with open(path, "rb") as stream:
        while chunk := stream.read(XML_READ_AT_ONCE_BYTES):
            if stream.tell() - max(parser.CurrentByteIndex, 0) > LONGEST_XML_TAG_BYTES:
                raise handler.fault("one tag or comment of more than 4 MB", code="suspicious-size")
            try:
                parser.Parse(chunk, False)
            except ValueError as error:  # an encoding that no one knows
                raise CondyleError(f"the XML cannot be decoded ({error})", code="damaged-file", line=1) from None
            except LookupError:
                raise CondyleError("the XML names an encoding that is not known", code="damaged-file", line=1) from None
    try:
        parser.Parse(b"", True)
    except expat.ExpatError as error:
        if expat.errors.messages[error.code] not in _ENDS_EARLY:
            raise
        handler.document.cut = parser.CurrentLineNumber
    document = handler.document
    declared = document.subject.get("segmentCount", "").strip()
    if len(document.stamps) and declared.isdecimal() and declared != str(len(document.segments)):
        raise CondyleError(
            f"the header says {declared[:12]} segments and names {len(document.segments)}", code="bad-header"
        )
    return document


def _is_utf8(path: Path) -> bool:
    decoder = codecs.getincrementaldecoder("utf-8")()
    with open(path, "rb") as stream:
        try:
            while chunk := stream.read(XML_READ_AT_ONCE_BYTES):
                decoder.decode(chunk)
        except UnicodeDecodeError:
            return False
    return True


def _read_time(document: _Document) -> tuple[Floats | None, float | None]:
    """Time [s], or the rate [Hz] where frames have none.

    Stamps are rounded to whole milliseconds. Where each agrees with its index over the frame rate, that is the time.
    """
    rate = read_number(document.subject.get("frameRate", ""))
    rate = rate if rate is not None and 0 < rate < np.inf else np.nan
    stamps, index = document.stamps.array().T
    time = stamps / 1000
    with np.errstate(invalid="ignore", over="ignore"):
        counted = index / rate
        off = time - counted
        if np.isfinite(off).all() and np.ptp(off) < MVNX_STAMP_ROUNDING_S and (np.diff(counted) > 0).all():
            return counted, None
    if np.isfinite(time).all():
        return time, None
    return None, (None if np.isnan(rate) else float(rate))


def _find_own_skeleton(document: _Document) -> OwnSkeleton | None:
    """The joints as the file connects them; None where they are not one connection per segment to a known point."""
    names = list(document.segments)
    index = {name: k for k, name in enumerate(names)}
    parent = np.full(len(names), -1)
    offset = np.zeros((len(names), 3))
    for one, two in document.joints:
        (above, _, point), (below, _, _) = one.rpartition("/"), two.rpartition("/")
        if above not in index or below not in index or parent[index[below]] >= 0:
            return None
        if point not in document.segments[above] or not np.isfinite(document.segments[above][point]).all():
            return None
        parent[index[below]], offset[index[below]] = index[above], document.segments[above][point]
    if not document.joints or not is_forest(parent):
        return None
    return OwnSkeleton(tuple(names), parent, offset)


def _describe_truncation(document: _Document, present: int) -> list[Finding]:
    if document.cut is None:
        return []
    text = f"{present} whole frames present; the file ends early, in line {document.cut}; copy or export it again"
    return [Finding("truncated-file", "warning", text, value=1.0, unit="frames", frame=present, count=1)]


FORMAT = Format("mvnx", "Xsens MVNX", looks_like, read)
