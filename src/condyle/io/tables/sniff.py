"""What an unknown file seems to be, in a few words for an error message."""

from __future__ import annotations

import re

from .table import find_table
from .text import read_head_lines, to_utf8

_GLTF_PARTS = ("scenes", "nodes", "accessors", "buffers", "meshes", "animations")
_MAGIC: tuple[tuple[bytes, str], ...] = (
    (b"PK\x05\x06", "an empty ZIP archive"),
    (b"PK", "a ZIP archive (XLSX and other documents are ZIP archives too) without NumPy arrays"),
    (b"\x93NUMPY", "a single NumPy array (.npy); save names, time, R_world_body and p_world_body with np.savez"),
    (b"\x89HDF\r\n\x1a\n", "an HDF5 file (MATLAB 7.3 files are HDF5 too)"),
    (b"MATLAB 5.0 MAT-file", "a MATLAB file"),
    (b"\x1f\x8b", "a gzip-compressed file"),
    (b"BZh", "a bzip2-compressed file"),
    (b"\xfd7zXZ", "an xz-compressed file"),
    (b"7z\xbc\xaf", "a 7z archive"),
    (b"\x89PNG", "a PNG image"),
    (b"\xff\xd8\xff", "a JPEG image"),
    (b"GIF8", "a GIF image"),
    (b"BM", "a BMP image"),
    (b"II*\x00", "a TIFF image"),
    (b"MM\x00*", "a TIFF image"),
    (b"%PDF", "a PDF document"),
    (b"\xd0\xcf\x11\xe0", "an old Microsoft Office document"),
    (b"Kaydara FBX Binary", "an FBX scene"),
    (b"glTF", "a GLB scene"),
    (b"SQLite format 3", "an SQLite database"),
    (b"\x80\x04\x95", "a Python pickle, which is never opened"),
    (b"\x80\x05\x95", "a Python pickle, which is never opened"),
    (b"\x7fELF", "a program"),
)


def describe_content(head: bytes) -> str:
    """A noun phrase for a file that starts with these bytes."""
    if len(head) > 1 and head[1] == 0x50 and 2 <= head[0] < 64 and b"\x00" in head[:512]:
        return "a C3D file"
    for magic, words in _MAGIC:
        if head.startswith(magic):
            return words
    if head[4:8] == b"ftyp":
        return "a video"
    if not head.strip(b"\x00"):
        return "a file of zero bytes"
    if not head.strip():
        return "a file of blank lines"
    text = to_utf8(head)
    control = sum(byte < 9 or 13 < byte < 32 for byte in text[:4096])
    if control > len(text[:4096]) // 100:
        return "a binary file of an unknown kind"
    return _describe_text(text.decode("utf-8", "replace"))


def is_table(head: bytes) -> bool:
    """Whether these bytes hold rows with several numbers each; JSON may hold such lines and is none."""
    if head.lstrip().startswith((b"{", b"[")) and describe_content(head) == "a JSON file":
        return False
    table = find_table("".join(f"{line}\n" for line in read_head_lines(head)).encode())
    return table is not None and len(table.names) >= 3


def is_bare_header(head: bytes) -> bool:
    """Whether these bytes are names of columns, or comments, and nothing below them."""
    lines = [line for line in read_head_lines(head) if line.strip()]
    if not lines or any(_count_numbers(line) >= 3 for line in lines):
        return False
    cells = [cell.strip() for cell in re.split(r"[\t;,]", lines[-1].strip())]
    named = len(cells) >= 4 and not any(re.fullmatch(r"[+-]?[\d.]+", cell) for cell in cells)
    return named or all(line.lstrip().startswith("#") for line in lines)


def _count_numbers(line: str) -> int:
    cells = re.split(r"[\s;]+|,\s*", line)
    return sum(re.fullmatch(r"[+-]?(\d+([.,]\d*)?|[.,]\d+)([eE][+-]?\d+)?", cell) is not None for cell in cells)


def _describe_text(text: str) -> str:
    start = text.lstrip().lower()
    if start.startswith(("<!doctype html", "<html")):
        return "an HTML page (a download that went wrong?)"
    if start.startswith("<"):
        return "an XML file"
    if start.startswith("{") and '"asset"' in start and any(f'"{part}"' in start for part in _GLTF_PARTS):
        return "a glTF scene as JSON (.gltf); save it as one binary file (.glb), which is"
    if start.startswith("hierarchy"):
        return "a BVH file"
    if re.match(r"\[[\w.\"' -]+\]\s*(#.*)?\n", start) or re.match(r"[\w-]+ *= *[\"'\[{\d]", start):
        return "a TOML file"
    if start.startswith(("{", "[")):
        return "a JSON file"
    lines = [line for line in text.split("\n")[:-1] or [text] if line.strip() and not line.startswith("#")][:50]
    for separator, word in (("\t", "tabs"), (";", "semicolons"), (",", "commas")):
        counts = [line.count(separator) for line in lines]
        if counts and min(counts[-5:]) > 0 and separator != "," and ".px" in text:
            return f"condyle's CSV with {word} between the cells; separate them by commas, with points in the numbers"
        if counts and min(counts[-5:]) > 0:
            return f"a text table with {word} whose columns no format explains"
    return "a text table with blanks between its numbers" if is_table(text.encode()) else "a text file"
