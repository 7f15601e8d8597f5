"""io/formats/_plugins.py: formats of other packages, and what is said of those that cannot be used."""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import pytest

from condyle.errors import CondyleError, UsageError
from condyle.io.formats import ReadOptions, identify, read_recording
from condyle.io.formats._plugins import find_plugins, load_plugin
from tests.make import PROJECT

CODE, POINT = re.findall(
    r"```(?:python|toml)\n(.*?)```", (PROJECT / "docs/formats/own-format.md").read_text("utf-8"), re.DOTALL
)
LOG = "LAB1 hand\n0.0 1 2 3 1 0 0 0\n0.5 4 5 6 0 1 0 0\n"
POSES = "x,y,z,qw,qx,qy,qz\n1,2,3,1,0,0,0\n4,5,6,0,1,0,0\n"  # which no format is certain of
Install = Callable[..., None]


@pytest.fixture
def install(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Install]:
    """Puts a package of one module with its entry point on the path, as an installer leaves it."""
    site = tmp_path / "site"
    monkeypatch.syspath_prepend(site)
    modules = []

    def install(module: str, code: str, points: str) -> None:
        info = site / f"{module}-1.0.dist-info"
        info.mkdir(parents=True)
        (site / f"{module}.py").write_text(code, "utf-8")
        (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {module}\nVersion: 1.0\n")
        (info / "entry_points.txt").write_text(points)
        modules.append(module)

    yield install
    for module in modules:
        sys.modules.pop(module, None)
    load_plugin.cache_clear()


@pytest.fixture
def lab(install: Install, tmp_path: Path) -> Path:
    """A file of the format in the docs, whose package is installed."""
    name, points = re.match(r'\[project\.entry-points\."(.*)"\]\n(.*)', POINT, re.DOTALL).groups()  # type: ignore[union-attr]
    install("our_lab", CODE, f"[{name}]\n{points.replace(chr(34), '')}")
    path = tmp_path / "a.log"
    path.write_text(LOG)
    return path


def test_the_format_in_the_docs_is_found_by_its_content_and_read(lab: Path) -> None:
    recording = read_recording(lab)
    assert recording.bodies is not None
    assert recording.bodies.names == ("hand",)
    np.testing.assert_array_equal(recording.bodies.position[:, 0], [[1, 2, 3], [4, 5, 6]])
    assert recording.convention.unit == "mm"
    assert recording.findings == ()
    assert identify(lab).title == "log of our lab"


def test_it_is_asked_for_by_its_name_and_options_apply_to_it(lab: Path) -> None:
    assert identify(lab, "lab").name == "lab"
    recording = read_recording(lab, ReadOptions(format="lab", unit="cm"))
    assert recording.convention.unit == "cm"
    with pytest.raises(UsageError, match=r"no format 'labs'; choose from npz, .*segment-table, lab"):
        identify(lab, "labs")


def test_it_ends_in_ten_lines_of_code() -> None:
    assert sum(bool(line.strip()) and not line.startswith(("import", "from")) for line in CODE.splitlines()) <= 10


BROKEN = {
    "no module": ("raise RuntimeError('out of order')", "cannot be loaded: RuntimeError: out of order"),
    "no object": ("", "cannot be loaded: AttributeError"),
    "no format": ("FORMAT = 3", "is no condyle.io.format.Format but int"),
    "another name": (CODE.replace('"lab"', '"other"'), "calls itself 'other'"),
    "no look": (CODE.replace("head.startswith", "head.begins_with"), "fails to look at a file: AttributeError"),
}


@pytest.mark.parametrize("case", BROKEN)
def test_a_broken_one_is_named_in_a_sentence_and_everything_else_is_read(
    case: str, install: Install, lab: Path, tmp_path: Path
) -> None:
    code, why = BROKEN[case]
    install("broken", code.replace('"lab"', '"bad"'), "[condyle.formats]\nbad = broken:FORMAT\n")
    assert read_recording(lab).findings[0].code == "broken-plugin"
    path = tmp_path / "poses.csv"
    path.write_text(POSES)
    (finding,) = read_recording(path).findings
    assert f"of the package broken {why}" in finding.text
    path.write_text("words\n")
    with pytest.raises(CondyleError, match=re.escape(why)) as error:
        read_recording(path)
    assert error.value.code == "unknown-format"


@pytest.mark.parametrize(
    ("replaced", "by", "why"),
    [
        ("return Recording(", "raise KeyError('x')\n    return Recording(", "fails to read it: KeyError: 'x'"),
        ("return Recording(", "return str(", "fails to read it: TypeError"),
        ("return Recording(", "return path\n    return Recording(", "instead of a Recording"),
    ],
)
def test_one_that_fails_to_read_says_so_in_one_error(
    replaced: str, by: str, why: str, install: Install, tmp_path: Path
) -> None:
    install("our_lab", CODE.replace(replaced, by), "[condyle.formats]\nlab = our_lab:FORMAT\n")
    path = tmp_path / "a.log"
    path.write_text(LOG)
    with pytest.raises(CondyleError, match=re.escape(why)) as error:
        read_recording(path)
    assert (error.value.code, error.value.path) == ("broken-plugin", str(path))


def test_two_that_are_certain_of_a_file_are_asked_for_by_name(lab: Path, install: Install) -> None:
    install("lab3", CODE.replace('"lab"', '"lab3"'), "[condyle.formats]\nlab3 = lab3:FORMAT\n")
    with pytest.raises(CondyleError, match="say which with --format lab or --format lab3"):
        read_recording(lab)


def test_the_name_of_an_own_format_is_taken(lab: Path, install: Install) -> None:
    install("imitation", CODE.replace('"lab"', '"npz"'), "[condyle.formats]\nnpz = imitation:FORMAT\n")
    assert identify(lab).name == "lab"
    assert identify(lab, "npz").title == "condyle NPZ"


def test_nothing_is_looked_for_where_a_format_is_certain(lab: Path, tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    path.write_text("# condyle take 1\nhip.px,hip.py,hip.pz,hip.qw,hip.qx,hip.qy,hip.qz\n1,2,3,1,0,0,0\n")
    code = "import sys, condyle.io.formats as f; f.identify(sys.argv[1]); print('importlib.metadata' in sys.modules)"
    run = subprocess.run([sys.executable, "-c", code, str(path)], capture_output=True, text=True, check=True)
    assert run.stdout.strip() == "False"
    assert list(find_plugins()) == ["lab"]
