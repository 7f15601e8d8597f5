"""`dataclass` of the standard library, made faster: there, every class has five or six methods compiled when it is
imported, and that was a fifth of a short fit. Here a class compiles its `__init__` when it is looked at or after some
values, since most classes make none or few, and shares the rest.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

MADE_BEFORE_COMPILED = 20  # values of a class: making so many without takes as long as compiling
SHOWN_MOST_NUMBERS = 16  # of an array that is printed whole: a matrix of a pose

if TYPE_CHECKING:  # it is used, and means, the same
    from dataclasses import dataclass as dataclass
else:
    import dataclasses
    import sys
    from functools import partial
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
        shared["__init__"] = _LateInit(cls, frozen)
        own = set(vars(cls))  # before those of a dataclass join them
        made = dataclasses.dataclass(cls, init=False, repr=False, eq=False)
        for name, method in shared.items():
            if name not in own:
                setattr(made, name, method)
        return made

    class _Absent:
        """In place of a field that is to be made."""

        def __repr__(self) -> str:
            return "<factory>"

    _ABSENT = _Absent()

    class _LateInit:
        """Stands for the `__init__` of a class until somebody looks at it, or many values were made."""

        def __init__(self, cls: type, frozen: bool) -> None:
            self.cls, self.frozen, self.made = cls, frozen, 0

        def __get__(self, value: Any, kind: type | None = None) -> Any:
            self.made += 1
            if value is not None and self.made <= MADE_BEFORE_COMPILED:
                return partial(self.fill, value)
            if vars(self.cls)["__init__"] is self:
                self.cls.__init__ = _compile_init(self.cls, frozen=self.frozen)
            return vars(self.cls)["__init__"].__get__(value, kind)

        def fill(self, value: Any, /, *args: Any, **given: Any) -> None:
            """Does what the compiled `__init__` does, which has the words for arguments that are wrong."""
            every = dataclasses.fields(self.cls)
            given_to = dict(zip((one.name for one in every if one.init), args, strict=False)) | given
            wrong, own = len(given_to) < len(args) + len(given), {}
            for one in every:
                if one.init and one.name in given_to:
                    own[one.name] = given_to.pop(one.name)
                elif one.default_factory is not dataclasses.MISSING:
                    own[one.name] = one.default_factory()
                elif one.init:
                    own[one.name] = one.default
                    wrong = wrong or one.default is dataclasses.MISSING
            if wrong or given_to:
                self.cls.__init__(value, *args, **given)
                return
            if self.frozen:
                value.__dict__.update(own)
            else:
                for name, one in own.items():
                    setattr(value, name, one)
            if hasattr(self.cls, "__post_init__"):
                value.__post_init__()

    def _compile_init(cls: type, *, frozen: bool) -> Any:
        """What `dataclasses` would have compiled; a frozen value's fields go where `__setattr__` cannot refuse them."""
        known: dict[str, Any] = {"_absent": _ABSENT}
        given, lines = ["_self"], ["_own = _self.__dict__"] if frozen else []
        for one in dataclasses.fields(cls):
            name, value = one.name, one.name
            if one.default_factory is not dataclasses.MISSING:
                known[f"_make_{name}"] = one.default_factory
                value = f"_make_{name}() if {name} is _absent else {name}" if one.init else f"_make_{name}()"
            elif not one.init:
                continue
            if one.init:
                known[f"_default_{name}"] = _ABSENT if one.default is dataclasses.MISSING else one.default
                needed = one.default is one.default_factory  # there is neither
                given.append(name if needed else f"{name}=_default_{name}")
            lines.append(f"_own[{name!r}] = {value}" if frozen else f"_self.{name} = {value}")
        if hasattr(cls, "__post_init__"):
            lines.append("_self.__post_init__()")
        text = f"def __init__({', '.join(given)}):\n  " + "\n  ".join(lines or ["pass"])
        made: dict[str, Any] = {}  # in the module of the class, so that the hints of its types are resolved there
        exec(f"def _close({', '.join(known)}):\n {text}\n return __init__", vars(sys.modules[cls.__module__]), made)
        init = made["_close"](**known)
        init.__qualname__ = f"{cls.__qualname__}.__init__"
        init.__annotations__ = {one.name: one.type for one in dataclasses.fields(cls) if one.init} | {"return": None}
        return init

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
