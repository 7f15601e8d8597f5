"""Pages in a browser: Debian's Chromium, driven by playwright, with everything listened to that should not happen."""

from __future__ import annotations

import math
import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import pytest

from condyle.model.take import Take
from condyle.report.page import write_page
from condyle.simulate import Disturbances, SensorSlip, human, linkage, prop, simulate, together
from tests.make.fitted import fitted

CHROMIUM = Path(os.environ.get("CONDYLE_CHROMIUM", "/usr/bin/chromium"))
FLAGS = ["--no-sandbox", "--use-angle=swiftshader", "--enable-unsafe-swiftshader", "--disable-background-networking"]
PATIENCE = 30_000.0  # ms that the page may take for anything
RATE = 30.0  # Hz
NOISE = {"position_noise": 0.003, "orientation_noise": math.radians(0.5)}
SLIP = SensorSlip("l_thigh", 11.0, (0.04, 0.02, 0.0))
HOSTILE = (
    "</script><img src=x onerror=alert(1)>", "a\u2028b", "\u202egnp.exe", "<b>&lt;\"'\\ {{x}}</b>",
    "\x1b[31mred\x07", "long_" * 60, "日本語 العربية", '=HYPERLINK("http://x")',
)  # fmt: skip


COPY = """() => {
    dispatchEvent(new Event('beforeprint'));
    const paper = document.querySelector('.stage > canvas.on-paper');"""
COUNT = """
    const pixels = paper.getContext('2d').getImageData(0, 0, paper.width, paper.height).data;
    return new Set(new Uint32Array(pixels.buffer)).size;
}"""


def chromium() -> Any:
    """A browser; the test is skipped with the reason where there is none."""
    playwright = pytest.importorskip("playwright.sync_api", reason="playwright is not installed")
    if not CHROMIUM.exists():
        pytest.skip(f"no Chromium at {CHROMIUM}; CONDYLE_CHROMIUM names another place")
    return playwright


def world(name: str) -> Take:
    """The recordings whose pages are looked at."""
    if name == "demo":
        noise = Disturbances(**NOISE, missing=0.005)
        return simulate(human(), "exercise", seconds=12, rate=RATE, seed=0, disturbances=noise).take
    if name == "linkage":
        noise = Disturbances(position_noise=0.001, orientation_noise=math.radians(0.2))
        return simulate(linkage(), "exercise", seconds=10, rate=RATE, seed=0, disturbances=noise).take
    if name == "two":
        noise = Disturbances(**NOISE)
        worlds = [simulate(human(), "exercise", seconds=12, rate=RATE, seed=s, disturbances=noise) for s in (1, 2)]
        ball = prop("ball", seconds=12, rate=RATE, seed=3, disturbances=noise)
        return together([*worlds, ball], ["anna", "ben", ""]).take
    if name == "slip":
        noise = Disturbances(**NOISE, slips=(SLIP,))
        return simulate(human(), "exercise", seconds=24, rate=RATE, seed=4, disturbances=noise).take
    if name == "undetermined":
        return simulate(human(), "still", seconds=6, rate=RATE, seed=5, disturbances=Disturbances(**NOISE)).take
    if name == "hostile":
        take = simulate(human(), "exercise", seconds=12, rate=RATE, seed=6, disturbances=Disturbances(**NOISE)).take
        return replace(take, names=HOSTILE + take.names[len(HOSTILE) :])
    raise KeyError(name)


def page_of(folder: Path, name: str) -> Path:
    """report.html of a world."""
    fitted(folder, world(name))
    return write_page(folder)


@dataclass
class Opened:
    """A page that is open, with what it said and asked for."""

    page: Any
    said: list[str] = field(default_factory=list)
    asked: list[str] = field(default_factory=list)

    def text(self, selector: str) -> str:
        return str(self.page.inner_text(selector)).strip()

    def settle(self) -> None:
        """Until two frames were drawn."""
        self.page.evaluate("() => new Promise(r => requestAnimationFrame(() => requestAnimationFrame(r)))")

    def frame(self) -> int:
        return int(self.page.input_value(".track input"))

    def picture(self) -> str:
        """The figure alone, as the page copies it for paper, as a data URL: no name or button over it."""
        self.settle()
        return str(self.page.evaluate(COPY + "return paper.toDataURL(); }"))

    def colours(self) -> int:
        """How many colours the figure's picture has."""
        return int(self.page.evaluate(COPY + COUNT))


@contextmanager
def opened(browser: Any, address: str, width: int = 1280, height: int = 800, **context: Any) -> Iterator[Opened]:
    """The page at an address, its motion unpacked."""
    surroundings = browser.new_context(viewport={"width": width, "height": height}, **context)
    surroundings.set_default_timeout(PATIENCE)
    page = surroundings.new_page()
    seen = Opened(page)
    page.on("console", lambda message: seen.said.append(f"{message.type}: {message.text}"))
    page.on("pageerror", lambda error: seen.said.append(f"error: {error}"))
    page.on("dialog", lambda dialog: (seen.said.append(f"dialog: {dialog.message}"), dialog.dismiss()))
    page.on("request", lambda request: seen.asked.append(request.url))
    try:
        page.goto(address)
        page.wait_for_function("() => document.documentElement.dataset.motion === 'whole'", timeout=PATIENCE)
        seen.settle()
        yield seen
    finally:
        surroundings.close()
