"""The extension as a zip that Blender installs: `python blender/make_zip.py [OUT.zip]`."""

from __future__ import annotations

import argparse
import tomllib
import zipfile
from pathlib import Path

SOURCE = Path(__file__).parent / "condyle_figure"
MADE = (1980, 1, 1, 0, 0, 0)  # the same files are the same zip


def make_zip(out: Path | None = None) -> Path:
    """Writes the zip, condyle_figure-VERSION.zip where no name is given, and gives its path back."""
    manifest = tomllib.loads((SOURCE / "blender_manifest.toml").read_text(encoding="utf-8"))
    out = out or Path(f"{manifest['id']}-{manifest['version']}.zip")
    with zipfile.ZipFile(out, "w") as packed:
        for path in sorted(SOURCE.glob("*.py")) + [SOURCE / "blender_manifest.toml"]:
            member = zipfile.ZipInfo(path.name, MADE)
            member.compress_type = zipfile.ZIP_DEFLATED
            packed.writestr(member, path.read_bytes())
    return out


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("out", nargs="?", type=Path, metavar="OUT.zip")
    print(make_zip(parser.parse_args().out))
