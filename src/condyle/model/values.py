"""`dataclass` of the standard library, made faster: there, every class has five or six methods compiled when it is
imported, and that was a fifth of a short fit. Here a class compiles its `__init__`, and shares the rest.
A frozen value then takes about a quarter longer to make, so `live`, which starts once and makes some for every packet,
has the standard library's.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

SHOWN_MOST_NUMBERS = 16  # of an array that is printed whole: a matrix of a pose

if TYPE_CHECKING:  # it is used, and means, the same
    from dataclasses import dataclass as dataclass
else:
    import dataclasses
    from reprlib import recursive_repr

    def dataclass(cls: type | None = None, /, *, frozen: bool = False, eq: bool = True) -> Any:
        """A dataclass; the fields of a frozen one are set once, by `__init__`."""
        if cls is None:
            return lambda cls: dataclass(cls, frozen=frozen, eq=eq)
        shared = {"__repr__": _repr_short if not eq and "__str__" in vars(cls) else _repr}
        if eq:
            shared |= {"__eq__": _eq, "__hash__": _hash if frozen else None}
        if frozen:
            shared |= {"__setattr__": _set_once, "__delattr__": _refuse}
        own = set(vars(cls))  # before those of a dataclass join them
        made = dataclasses.dataclass(cls, repr=False, eq=False)
        for name, method in shared.items():
            if name not in own:
                setattr(made, name, method)
        return made

    @recursive_repr()
    def _repr(self: Any) -> str:
        shown = (f"{one.name}={_show(getattr(self, one.name))}" for one in dataclasses.fields(self) if one.repr)
        return f"{type(self).__qualname__}({', '.join(shown)})"

    def _repr_short(self: Any) -> str:
        """Of a value that holds arrays and has a sentence for itself."""
        return f"<{type(self).__qualname__}: {self}>"

    def _show(value: Any) -> str:
        """Its repr, or the shape of an array that would fill the screen."""
        shape = getattr(value, "shape", None)
        return f"array{shape}" if isinstance(shape, tuple) and value.size > SHOWN_MOST_NUMBERS else repr(value)

    def _list_compared(value: Any) -> tuple[Any, ...]:
        return tuple(getattr(value, one.name) for one in dataclasses.fields(value) if one.compare)

    def _eq(self: Any, other: object) -> Any:
        return _list_compared(self) == _list_compared(other) if type(other) is type(self) else NotImplemented

    def _hash(self: Any) -> int:
        return hash(_list_compared(self))

    def _set_once(self: Any, name: str, value: Any) -> None:
        own = self.__dict__
        if name in own or name not in self.__dataclass_fields__:
            _refuse(self, name)
        own[name] = value

    def _refuse(self: Any, name: str) -> None:
        raise dataclasses.FrozenInstanceError(f"cannot change '{name}' of a {type(self).__name__}")
