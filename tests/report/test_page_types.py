"""The page's types are those of the data that Python writes."""

from __future__ import annotations

import pytest

from condyle.report import page_types
from condyle.report.page_data import VERSION
from tests.make import PROJECT

DATA_TS = PROJECT / "web" / "src" / "data.ts"


def test_the_types_in_the_page_are_those_that_python_fills() -> None:
    if not DATA_TS.is_file():
        pytest.skip("the sources of the page are not here")
    assert DATA_TS.read_text(encoding="utf-8") == page_types.write_typescript(), (
        "run: python -m condyle.report.page_types > web/src/data.ts"
    )


def test_nothing_is_left_out_and_words_come_along() -> None:
    text = page_types.write_typescript()
    assert f"export const VERSION = {VERSION};" in text
    assert "export interface PageJoint {" in text
    assert "  readonly axis_child: readonly [number, number, number] | null;" in text
    assert '  readonly kind: "ball" | "hinge" | "rigid" | "undetermined" | "universal" | "screw" | "slider";' in text
    assert "  readonly rows: readonly (readonly [string, string])[];" in text
    assert " * gap_step         [m] of the packed gaps" in text
    assert "_Value" not in text


def test_a_type_that_the_page_does_not_know_is_refused() -> None:
    with pytest.raises(TypeError, match="no type for"):
        page_types._type(complex)
