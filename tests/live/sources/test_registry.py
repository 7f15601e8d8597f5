"""live/sources/__init__.py: a word opens a source, and one that opens none is told what does."""

from __future__ import annotations

from importlib import import_module
from pathlib import Path

import pytest

from condyle.errors import CondyleError, UsageError
from condyle.io.formats import read_recording
from condyle.live import sources
from condyle.live.sources import PROTOCOLS, Stream, find_streams, open_source
from tests.make import PROJECT


@pytest.mark.parametrize("word", ["", "replay", "nope:1", "lsl"])
def test_a_word_that_opens_nothing_is_told_what_can_be_connected(word: str) -> None:
    with pytest.raises(UsageError, match=r"what can be connected is .*replay:FILE"):
        open_source(word)


@pytest.mark.parametrize("name", PROTOCOLS)
def test_every_protocol_has_its_module_and_needs_an_address(name: str) -> None:
    if PROTOCOLS[name].address:
        with pytest.raises(UsageError, match="does not say what to connect"):
            open_source(f"{name}:")
    module = import_module(f"condyle.live.sources.{PROTOCOLS[name].module}")
    assert callable(module.open_source)
    assert hasattr(module, "find_streams") == PROTOCOLS[name].finds


def test_every_protocol_is_on_the_page() -> None:
    page = (PROJECT / "docs" / "live.md").read_text(encoding="utf-8")
    for name in PROTOCOLS:
        assert f"`{name}:" in page or f"`{name}`" in page, name


def test_what_streams_is_found_where_its_extra_is_installed(monkeypatch: pytest.MonkeyPatch) -> None:
    class Lacking:
        @staticmethod
        def find_streams() -> list[Stream]:
            raise CondyleError("install it", code="missing-extra")

    class Finding:
        @staticmethod
        def find_streams() -> list[Stream]:
            return [Stream("lsl:room", "15 bodies")]

    one = PROTOCOLS["replay"]._replace(finds=True)
    monkeypatch.setattr(sources, "PROTOCOLS", {"a": one._replace(module="a"), "b": one._replace(module="b")})
    monkeypatch.setattr(sources, "import_module", lambda name, _: {".a": Lacking, ".b": Finding}[name])
    assert find_streams() == [Stream("lsl:room", "15 bodies")]


def test_a_bag_is_replayed_by_its_own_word(tmp_path: Path) -> None:
    from tests.io.formats.test_rosbag import SMALL

    bag = tmp_path / "take.bag"
    bag.write_bytes(next(iter(SMALL.values())))
    source = open_source(f"ros:{bag}@max")
    packets = []
    while not source.ended:
        packets += source.read(0.1)
    found = read_recording(bag)
    assert found.bodies is not None
    assert packets[0].layout.bodies == found.bodies.names
    assert len(packets) == found.frames


def test_nothing_of_live_is_imported_by_a_fit(tmp_path: Path) -> None:
    import subprocess
    import sys

    code = (
        "import sys, condyle; condyle.fit; import condyle.cli.fit, condyle.api; "
        "print([name for name in sys.modules if name.startswith('condyle.live')])"
    )
    out = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    assert out.strip() == "[]"
