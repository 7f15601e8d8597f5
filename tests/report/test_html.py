"""The page as a file: whole, and with nothing in it that a name could break."""

from __future__ import annotations

import json
import re
from html.parser import HTMLParser
from pathlib import Path

import msgspec
import pytest

from condyle import CondyleError, read_skeleton
from condyle.report import page as pages
from condyle.report.page import DATA_PLACE, build_page, to_html, to_json, write_page
from condyle.report.page_data import PageData
from tests.make.fitted import fitted, rewritten, take

TEMPLATE = b"<!doctype html><title>t</title><body>" + DATA_PLACE + b"<script>go()</script>"
HOSTILE = ("</script><img src=x onerror=alert(1)>", "a\u2028b\u2029c", "<!--<script>", "&lt;\\\"'\u202e\x07\U0001f9b4")


class Seen(HTMLParser):
    """Elements and texts that a browser would make of a page."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.texts: list[str] = []
        self.feed(text)
        self.close()

    def handle_starttag(self, tag: str, attrs: object) -> None:
        self.tags.append(tag)

    def handle_data(self, data: str) -> None:
        self.texts.append(data)


def test_hostile_names_are_data_and_nothing_else(tmp_path: Path) -> None:
    folder = fitted(tmp_path, take(8, names=HOSTILE))
    html = to_html(build_page(folder), TEMPLATE).decode()
    seen = Seen(html)
    assert seen.tags == ["title", "body", "script", "script"]
    data = next(text for text in seen.texts if text.startswith("{"))
    assert not re.search("[<>&\u2028\u2029]", data)
    assert tuple(body["name"] for body in json.loads(data)["bodies"]) == HOSTILE


def test_the_data_come_back_as_the_value_that_was_written(noisy: Path) -> None:
    page = build_page(noisy)
    assert msgspec.json.decode(to_json(page), type=PageData) == page


def test_half_a_surrogate_never_reaches_the_page(noisy: Path, tmp_path: Path) -> None:
    """No file can hold one: a skeleton.json that tries is refused."""
    folder = rewritten(noisy, tmp_path / "half")
    text = (folder / "skeleton.json").read_text()
    name = read_skeleton(noisy).bodies[0]
    (folder / "skeleton.json").write_text(text.replace(f'"{name}"', '"\\ud800"'))
    with pytest.raises(CondyleError, match="skeleton"):
        build_page(folder)


def test_a_page_is_written_beside_the_skeleton_or_where_it_is_asked_for(
    noisy: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(pages, "read_template", lambda: TEMPLATE)
    folder = rewritten(noisy, tmp_path / "fit")
    assert write_page(folder) == folder / "report.html"
    assert write_page(folder / "skeleton.json", tmp_path / "other.html") == tmp_path / "other.html"
    assert (tmp_path / "other.html").read_bytes() == (folder / "report.html").read_bytes()
    assert (folder / "report.html").read_bytes().startswith(b"<!doctype html>")


def test_a_fault_leaves_the_old_page(noisy: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pages, "read_template", lambda: TEMPLATE)
    folder = rewritten(noisy, tmp_path / "fit")
    (folder / "report.html").write_text("old")
    (folder / "motion.npz").write_bytes(b"PK")
    with pytest.raises(CondyleError, match="damaged"):
        write_page(folder)
    assert (folder / "report.html").read_text() == "old"


def test_an_installation_without_a_page_says_so(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pages, "TEMPLATE", tmp_path / "page.html")
    with pytest.raises(CondyleError, match="without its page") as caught:
        pages.read_template()
    assert caught.value.code == "no-page"


@pytest.mark.parametrize("template", [b"<html>", DATA_PLACE * 2])
def test_a_page_without_one_place_for_data_is_refused(noisy: Path, template: bytes) -> None:
    with pytest.raises(CondyleError, match="no place for its data"):
        to_html(build_page(noisy), template)
