"""Lengths at the borders: inside, everything is metres."""

from __future__ import annotations

from ..errors import UsageError

METRES = {"m": 1.0, "cm": 0.01, "mm": 0.001, "um": 1e-6, "in": 0.0254, "ft": 0.3048}
SMALLEST, LARGEST = 1e-9, 1e6  # m in one unit that is given as a number
_SPELLINGS = {
    "meter": "m", "metre": "m", "meters": "m", "metres": "m",
    "centimeter": "cm", "centimetre": "cm", "centimeters": "cm", "centimetres": "cm",
    "millimeter": "mm", "millimetre": "mm", "millimeters": "mm", "millimetres": "mm",
    "inch": "in", "inches": "in", "foot": "ft", "feet": "ft",
}  # fmt: skip


def metres_per(unit: str) -> float:
    """Metres in one `unit`: "mm", "inches", ..., or a number of metres such as "0.056444"; raises with the choices."""
    name = unit.strip().lower()
    name = _SPELLINGS.get(name, name)
    if name in METRES:
        return METRES[name]
    metres = _number(name)
    if metres is None:
        raise UsageError(
            f"no unit of length named '{unit}'; choose from {', '.join(METRES)}, or give its length in metres",
            code="unknown-unit",
        )
    return metres


def _number(text: str) -> float | None:
    """A positive number that is not absurd as a length [m] of one unit."""
    try:
        number = float(text)
    except ValueError:
        return None
    return number if SMALLEST <= number <= LARGEST and "_" not in text else None
