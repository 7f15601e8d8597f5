from __future__ import annotations

from importlib import import_module

import pytest

from condyle.errors import UsageError
from condyle.io.exports.registry import FORMATS, choose_formats
from condyle.io.exports.scene import FigureFormat


@pytest.mark.parametrize("name", FORMATS)
def test_every_name_leads_to_a_module_with_that_format(name: str) -> None:
    found = import_module(f"condyle.io.exports.{FORMATS[name]}").FORMAT
    assert isinstance(found, FigureFormat)
    assert found.name == name
    assert found.suffix.startswith(".")
    assert found.title


def test_a_list_names_each_format_once_and_a_wrong_one_is_named_with_the_choices() -> None:
    assert choose_formats(" JSON,.csv,json", ("json", "csv"), "axes") == ("json", "csv")
    for words, said in (("xml", "no format 'xml' for axes; choose from json, csv"), (",", "no format is named")):
        with pytest.raises(UsageError, match=said):
            choose_formats(words, ("json", "csv"), "axes")
