"""What the site does to pages: links that lead out of docs/ go to the project's repository."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

LINK = re.compile(r"(\]\()((?:\.\./)+[^)\s#]+)(#[^)]*)?(\))")


def on_page_markdown(markdown: str, page: Any, config: Any, files: Any) -> str:
    """The page with whole addresses in the place of files of the project that are no pages."""
    docs = Path(config["docs_dir"]).resolve()
    home = (docs / page.file.src_uri).parent
    address = config["extra"]["repository"].rstrip("/")

    def lead_out(match: re.Match[str]) -> str:
        target = (home / match[2]).resolve()
        if target.is_relative_to(docs):
            return match[0]
        kind = "tree" if target.is_dir() else "blob"
        place = target.relative_to(docs.parent).as_posix()
        return f"{match[1]}{address}/{kind}/main/{place}{match[3] or ''}{match[4]}"

    return LINK.sub(lead_out, markdown)
