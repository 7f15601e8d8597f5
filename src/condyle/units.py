"""Lengths at the borders: inside, everything is metres."""

from __future__ import annotations

from .errors import UsageError

METRES = {"m": 1.0, "cm": 0.01, "mm": 0.001, "um": 1e-6, "in": 0.0254, "ft": 0.3048}
_SPELLINGS = {
    "meter": "m", "metre": "m", "meters": "m", "metres": "m",
    "centimeter": "cm", "centimetre": "cm", "centimeters": "cm", "centimetres": "cm",
    "millimeter": "mm", "millimetre": "mm", "millimeters": "mm", "millimetres": "mm",
    "inch": "in", "inches": "in", "foot": "ft", "feet": "ft",
}  # fmt: skip


def metres_per(unit: str) -> float:
    """Metres in one `unit` ("mm", "inches", ...); raises with the choices."""
    name = unit.strip().lower()
    name = _SPELLINGS.get(name, name)
    if name not in METRES:
        raise UsageError(f"no unit of length named '{unit}'; choose from {', '.join(METRES)}", code="unknown-unit")
    return METRES[name]
