"""io/formats/_c3d_parameters.py: the chain of parameters, and numbers of every processor."""

from __future__ import annotations

import numpy as np
import pytest

from condyle.errors import CondyleError
from condyle.io.formats._c3d_parameters import Numbers, convert_vax, find_processor, parse_parameters
from tests.make.c3d_files import PROCESSORS, Encoder, record

SINGLE = 1e-6  # [-] relative, of a 32-bit float


def section(processor: str = "Intel", **values: object) -> bytes:
    """The group POINT with these parameters."""
    code = Encoder(processor)
    body = record(code, -1, "POINT") + b"".join(record(code, 1, name, value) for name, value in values.items())
    return bytes([1, 80, 1, PROCESSORS[processor]]) + body + b"\x00\x00"


def test_vax_floats_are_those_of_the_architecture_handbook() -> None:
    words = np.array([0x00004080, 0x0000C080, 0x00000000, 0x00008000, 0x0FDB4149], np.uint32)
    values = convert_vax(words)
    np.testing.assert_allclose(values[[0, 1, 2, 4]], [1.0, -1.0, 0.0, np.pi], rtol=SINGLE)
    assert np.isnan(values[3]), "the reserved operand is no number"


@pytest.mark.parametrize("processor", PROCESSORS)
def test_numbers_and_texts_are_read_whatever_the_processor(processor: str) -> None:
    raw = section(processor, RATE=62.5, LABELS=["LASI", "RASI "], UNITS="mm")
    found = parse_parameters(raw, find_processor(raw, 512), 512, cut=False)
    assert found.number("POINT:RATE") == 62.5
    assert found.texts("POINT:LABELS") == ["LASI", "RASI"]
    assert found.text("POINT:UNITS") == "mm"
    assert "POINT:SCALE" not in found
    assert (found.number("POINT:SCALE"), found.count("POINT:SCALE"), found.text("POINT:SCALE")) == (None, None, "")


def test_a_number_where_text_belongs_is_an_error_and_text_for_a_number_too() -> None:
    raw = section(RATE=62.5, UNITS="mm")
    found = parse_parameters(raw, Numbers("Intel"), 512, cut=False)
    with pytest.raises(CondyleError, match=r"POINT:UNITS at byte .* is text where a number belongs"):
        found.values("POINT:UNITS")
    with pytest.raises(CondyleError, match=r"POINT:RATE at byte .* holds numbers where text belongs"):
        found.texts("POINT:RATE")


def test_a_chain_that_breaks_or_ends_early_is_told_with_its_byte() -> None:
    raw = section(RATE=62.5)
    with pytest.raises(CondyleError, match="names processor 7"):
        find_processor(raw[:3] + b"\x07", 512)
    with pytest.raises(CondyleError, match="the file ends before its parameter section"):
        find_processor(b"", 512)
    with pytest.raises(CondyleError, match="past the end of the file"):
        parse_parameters(raw[:-6], Numbers("Intel"), 512, cut=True)
    with pytest.raises(CondyleError, match="the chain is broken"):
        parse_parameters(raw.replace(b"RATE", b"R\x01TE"), Numbers("Intel"), 512, cut=False)
