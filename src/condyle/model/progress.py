"""What is going on: the name of each step, told to whoever listens. Unless somebody does, nothing happens."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar

Listener = Callable[[str, float | None], None]  # name of the step that begins, or "" and the share of it that is done
_listener: ContextVar[Listener | None] = ContextVar("condyle-listener", default=None)


def begin_step(name: str) -> None:
    """Says what is being done from now on until the next step, in a phrase: "reading walk.csv (298 MB)"."""
    listener = _listener.get()
    if listener is not None:
        listener(name, None)


def tell_share(share: float) -> None:
    """Says how much of the step is done, from 0 to 1."""
    listener = _listener.get()
    if listener is not None:
        listener("", share)


@contextmanager
def listen(listener: Listener) -> Iterator[None]:
    """Calls `listener` with every step that begins in the block, in this thread."""
    token = _listener.set(listener)
    try:
        yield
    finally:
        _listener.reset(token)
