"""condyle: the articulated figure inside a recording of positions and orientations.

import condyle
fit = condyle.fit("take.npz")
print(fit.skeleton.limb("l_thigh"))
fit.save("out")

The public names stand in `__init__.pyi`, once. They are fetched when they are used, so that `condyle --help` does not
wait for numpy.
"""


def _find_homes() -> dict[str, tuple[str, str]]:
    """{public name: (module, name in it)} of the stub beside this file; a module that is public has the name ""."""
    import ast
    from importlib.resources import files

    here = files(__name__)
    stub = ast.parse((here / "__init__.pyi").read_text(encoding="utf-8"))
    homes = {}
    for line in [line for line in stub.body if isinstance(line, ast.ImportFrom)]:
        parts = line.module.split(".") if line.module else []
        for name in [one.name for one in line.names]:
            beside = here.joinpath(*parts)
            whole = (beside / name).is_dir() or (beside / f"{name}.py").is_file()
            homes[name] = (".".join(["", *parts, name]), "") if whole else (".".join(["", *parts]), name)
    return homes


def __getattr__(name: str) -> object:
    if name.startswith("_") and name not in ("__all__", "__version__"):  # what Python itself asks a module for
        raise AttributeError(f"module 'condyle' has no attribute '{name}'")
    from importlib import import_module

    homes = _find_homes()
    if name != "__all__" and name not in homes:
        raise AttributeError(f"module 'condyle' has no attribute '{name}'")
    value: object = list(homes)
    if name != "__all__":
        home, own = homes[name]
        value = import_module(home, __name__)
        value = getattr(value, own) if own else value
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted(_find_homes())
