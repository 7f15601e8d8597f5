"""Memory whose k-th large piece is refused: every array of numpy beyond a size, in turn."""

from __future__ import annotations

import ctypes
from collections.abc import Iterator
from contextlib import contextmanager

from numpy._core import _multiarray_umath

SET_HANDLER = 304  # index of PyDataMem_SetHandler in numpy's table of functions, which never changes
NAME = b"mem_handler"  # of the capsule, as numpy asks for it
_MALLOC = ctypes.CFUNCTYPE(ctypes.c_void_p, ctypes.c_void_p, ctypes.c_size_t)
_CALLOC = ctypes.CFUNCTYPE(ctypes.c_void_p, ctypes.c_void_p, ctypes.c_size_t, ctypes.c_size_t)
_REALLOC = ctypes.CFUNCTYPE(ctypes.c_void_p, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_size_t)
_FREE = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_size_t)


class _Allocator(ctypes.Structure):
    _fields_ = (
        ("context", ctypes.c_void_p), ("malloc", _MALLOC), ("calloc", _CALLOC), ("realloc", _REALLOC), ("free", _FREE),
    )  # fmt: skip


class _Handler(ctypes.Structure):
    _fields_ = (("name", ctypes.c_char * 127), ("version", ctypes.c_uint8), ("allocator", _Allocator))


class Pieces:
    """Counts pieces of at least `large` bytes, and refuses one. `failed` holds its size once it did."""

    def __init__(self) -> None:
        self.large, self.at, self.count, self.failed = 0, -1, 0, 0

    def allows(self, size: int) -> bool:
        if self.at < 0 or size < self.large:
            return True
        self.count += 1
        if self.count - 1 != self.at:
            return True
        self.failed = size
        return False


_new_capsule = ctypes.pythonapi.PyCapsule_New
_new_capsule.restype, _new_capsule.argtypes = ctypes.py_object, [ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p]
_open_capsule = ctypes.pythonapi.PyCapsule_GetPointer
_open_capsule.restype, _open_capsule.argtypes = ctypes.c_void_p, [ctypes.py_object, ctypes.c_char_p]
_table = ctypes.cast(_open_capsule(_multiarray_umath._ARRAY_API, None), ctypes.POINTER(ctypes.c_void_p))
_set_handler = ctypes.PYFUNCTYPE(ctypes.py_object, ctypes.py_object)(_table[SET_HANDLER])


def _find_default() -> _Allocator:
    capsule = _set_handler(_new_capsule(ctypes.addressof(_Handler(b"none", 1)), NAME, None))
    _set_handler(capsule)
    return _Handler.from_address(_open_capsule(capsule, NAME)).allocator


_default, _pieces = _find_default(), Pieces()
_malloc, _calloc, _realloc = (  # with the lock of Python held: it may be released where numpy asks for memory
    ctypes.PYFUNCTYPE(ctypes.c_void_p, *kind._argtypes_)(ctypes.cast(getattr(_default, name), ctypes.c_void_p).value)
    for name, kind in (("malloc", _MALLOC), ("calloc", _CALLOC), ("realloc", _REALLOC))
)
# Arrays outlive the block, and are given back by who made them: this stays as long as the process. To give back is
# numpy's own function, which is also called while an error is on its way.
_allocator = _Allocator(
    None,
    _MALLOC(lambda _, size: _malloc(None, size) if _pieces.allows(size) else None),
    _CALLOC(lambda _, count, size: _calloc(None, count, size) if _pieces.allows(count * size) else None),
    _REALLOC(lambda _, place, size: _realloc(None, place, size) if _pieces.allows(size) else None),
    _default.free,
)
_handler = _Handler(b"starving", 1, _allocator)
_capsule = _new_capsule(ctypes.addressof(_handler), NAME, None)


@contextmanager
def starving(at: int, large: int) -> Iterator[Pieces]:
    """In the block, array number `at` of at least `large` bytes gets no memory, and no other."""
    before = _set_handler(_capsule)
    _pieces.large, _pieces.at, _pieces.count, _pieces.failed = large, at, 0, 0
    try:
        yield _pieces
    finally:
        _pieces.at = -1
        _set_handler(before)
