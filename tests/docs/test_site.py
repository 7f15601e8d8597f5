"""The site: its API page has every public name, docstrings keep their lines, links lead out, and all of it builds."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest

import condyle
from tests.make import PROJECT
from tests.make.size import SIZE

from .pages import DOCS

sys.path.insert(0, str(DOCS / "site"))


def test_the_page_of_the_api_has_every_public_name_at_its_home() -> None:
    listed = re.findall(r"^::: condyle\.([\w.]+)\.(\w+)$", (DOCS / "api.md").read_text(encoding="utf-8"), re.MULTILINE)
    public = set(condyle.__all__) - {"__version__", "simulate", "rotation", "CODES"}
    assert {name for _, name in listed} - {"ReadOptions"} == public
    for module, name in [one for one in listed if one[1] in public]:
        found = getattr(__import__(f"condyle.{module}", fromlist=[name]), name)
        assert found is getattr(condyle, name)
        assert found.__doc__, name


def test_lines_of_names_and_meanings_stay_lines() -> None:
    pytest.importorskip("griffe", reason="the group docs is not installed")
    from aligned import keep_lines

    text = "A take.\n\ntime    (n,) [s]\nnames   m of them\n\nIt is frozen."
    assert keep_lines(text) == "A take.\n\n```text\ntime    (n,) [s]\nnames   m of them\n```\n\nIt is frozen."


def test_a_link_out_of_the_docs_leads_to_the_repository() -> None:
    from hooks import on_page_markdown

    page = SimpleNamespace(file=SimpleNamespace(src_uri="formats/csv.md"))
    config = {"docs_dir": str(DOCS), "extra": {"repository": "https://example.org/x/"}}
    text = "[a](../../src/condyle/api.py#L3) [b](../formats.md) [c](../../examples)"
    told = on_page_markdown(text, page, config, None)
    assert told == (
        "[a](https://example.org/x/blob/main/src/condyle/api.py#L3) [b](../formats.md) "
        "[c](https://example.org/x/tree/main/examples)"
    )


@pytest.mark.sized
@pytest.mark.skipif(SIZE == "light", reason="seconds; .ci/run builds the site")
def test_the_site_builds_strictly_and_has_every_page(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("mkdocs", reason="the group docs is not installed")
    monkeypatch.setenv("NO_MKDOCS_2_WARNING", "1")
    words = [sys.executable, "-m", "mkdocs", "build", "--strict", "--quiet", "--site-dir", str(tmp_path)]
    done = subprocess.run(words, cwd=PROJECT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    for page in DOCS.rglob("*.md"):
        place = page.relative_to(DOCS).with_suffix("")
        assert (tmp_path / (place if place.name == "index" else place / "index")).with_suffix(".html").is_file(), page
    home = (tmp_path / "index.html").read_text(encoding="utf-8")
    assert "fonts.googleapis" not in home  # nothing is loaded from elsewhere


def test_the_gallery_shows_every_picture_that_its_script_draws() -> None:
    from gallery import DRAWN

    shown = (DOCS / "gallery.md").read_text(encoding="utf-8")
    for name in DRAWN:
        assert f"(pictures/{name}.svg)" in shown
        assert (DOCS / "pictures" / f"{name}.svg").stat().st_size > 10_000


@pytest.mark.costly
def test_a_picture_of_the_gallery_is_drawn() -> None:
    from gallery import draw_robot

    assert draw_robot().axes
