"""profile.json: a Profile as a file by a strict schema."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import Any, Literal

import msgspec

from ..errors import CondyleError
from ..model.profile import Profile, ProfileLength
from . import values
from .atomic import write_atomic
from .folder import read_checked

PROFILE = "profile.json"
PROFILE_VERSION = 1
PROFILE_FILE_MOST_BYTES = 2**25  # of a profile.json: 64 bodies with 500 lengths take 6 MB
values.FORMS[ProfileLength] = values.JsonForm(later=("axes",))
values.FORMS[Profile] = values.JsonForm(later=("recordings", "windows"))


@cache
def _schema() -> type[msgspec.Struct]:
    head = [("format", Literal["condyle.profile"]), ("version", Literal[1]), ("units", Literal["m"])]
    return msgspec.defstruct("File", head, bases=(values.schema(Profile),), forbid_unknown_fields=True, kw_only=True)


def to_plain(profile: Profile) -> dict[str, Any]:
    """What the file holds as dicts, lists and numbers."""
    head = {"format": "condyle.profile", "version": PROFILE_VERSION, "condyle": profile.condyle, "units": "m"}
    return {**head, **values.to_plain(profile)}


def to_json(profile: Profile) -> bytes:
    """The file's bytes."""
    return msgspec.json.format(msgspec.json.encode(to_plain(profile)), indent=1) + b"\n"


def from_json(data: bytes, *, path: str | Path | None = None) -> Profile:
    """A Profile from the file's bytes; raises CondyleError with what is wrong."""
    try:
        profile: Profile = values.from_struct(msgspec.json.decode(data, type=_schema()))
    except (msgspec.DecodeError, UnicodeDecodeError, CondyleError, ValueError, RecursionError) as error:
        told = error.text if isinstance(error, CondyleError) else str(error)
        text = f"not a profile that this version reads ({told}); write it anew with condyle profile"
        raise CondyleError(text, code="bad-profile", path=path) from None
    return profile


def read_profile(path: str | Path) -> Profile:
    """A performer from profile.json."""
    if Path(path).is_dir():
        way = "make one of it with condyle profile, or solve with --skeleton and --remounted"
        raise CondyleError(f"is a folder, not a profile; {way}", code="bad-profile", path=path)
    return from_json(read_checked(Path(path), PROFILE_FILE_MOST_BYTES), path=path)


def write_profile(path: str | Path, profile: Profile) -> None:
    """Writes profile.json whole or not at all."""
    write_atomic(path, to_json(profile))
