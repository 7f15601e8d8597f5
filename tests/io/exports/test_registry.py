from __future__ import annotations

from importlib import import_module

import pytest

from condyle.io.exports.registry import FORMATS
from condyle.io.exports.scene import FigureFormat


@pytest.mark.parametrize("name", FORMATS)
def test_every_name_leads_to_a_module_with_that_format(name: str) -> None:
    found = import_module(f"condyle.io.exports.{FORMATS[name]}").FORMAT
    assert isinstance(found, FigureFormat)
    assert found.name == name
    assert found.suffix.startswith(".")
    assert found.title
