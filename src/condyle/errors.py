"""The one error that leaves condyle when input is broken."""

from __future__ import annotations

from pathlib import Path


class CondyleError(Exception):
    """Broken input, told in one sentence: the place, what is wrong there, and the way out.

    code    stable kebab-case name of the fault, for programs
    path    file the fault is in, or None
    line    1-based line in that file; column likewise
    frame   0-based frame; body: the sensor's or body's name
    """

    def __init__(
        self,
        text: str,
        *,
        code: str,
        path: str | Path | None = None,
        line: int | None = None,
        column: int | None = None,
        frame: int | None = None,
        body: str | None = None,
    ) -> None:
        self.text = text
        self.code = code
        self.path = None if path is None else str(path)
        self.line, self.column, self.frame, self.body = line, column, frame, body
        super().__init__(str(self))

    def __str__(self) -> str:
        place = [] if self.path is None else [self.path]
        for word, value in (("line", self.line), ("column", self.column), ("frame", self.frame), ("sensor", self.body)):
            if value is not None:
                place.append(f"{word} {value}")
        return f"{', '.join(place)}: {self.text}" if place else self.text

    def facts(self) -> dict[str, str | int | None]:
        """The error as plain values, for programs."""
        places = ("code", "text", "path", "line", "column", "frame", "body")
        return {place: getattr(self, place) for place in places}

    def at(self, path: str | Path) -> CondyleError:
        """The same error, naming the file it came from; a path already named stays."""
        if self.path is not None:
            return self
        return type(self)(
            self.text,
            code=self.code,
            path=path,
            line=self.line,
            column=self.column,
            frame=self.frame,
            body=self.body,
        )


class UsageError(CondyleError):
    """The call is wrong, not the data: an unknown body in `--root`, two options that exclude each other."""
