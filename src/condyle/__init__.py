"""condyle: the articulated figure inside a recording of positions and orientations.

import condyle
fit = condyle.fit("take.npz")
print(fit.skeleton.limb("l_thigh"))
fit.save("out")

The public names stand in `__init__.pyi`, once. They are fetched when they are used, so that `condyle --help` does not
wait for numpy.
"""

from typing import Any


def _find_homes() -> dict[str, tuple[str, str]]:
    """{public name: (module, name in it)} of the stub beside this file."""
    import ast
    from pathlib import Path

    stub = ast.parse(Path(__file__).with_suffix(".pyi").read_text(encoding="utf-8"))
    lines = [line for line in stub.body if isinstance(line, ast.ImportFrom)]
    return {one.asname or one.name: (f".{line.module or ''}", one.name) for line in lines for one in line.names}


def __getattr__(name: str) -> Any:
    if name.startswith("_") and name not in ("__all__", "__version__"):
        raise AttributeError(f"module 'condyle' has no attribute '{name}'")
    from importlib import import_module

    homes = _find_homes()
    value: Any
    if name == "__all__":
        value = list(homes)
    elif name in homes:
        home, own = homes[name]
        module = import_module(home, __name__)
        value = getattr(module, own) if hasattr(module, own) else import_module(f"{home.rstrip('.')}.{own}", __name__)
    else:
        raise AttributeError(f"module 'condyle' has no attribute '{name}'")
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted(_find_homes())
