from __future__ import annotations

import contextlib
import io
import pickle
import zipfile
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from condyle.errors import CondyleError
from condyle.maths import rotation
from condyle.prepare.read import read
from tests.make.size import cut_lengths, pick


def arrays(rng: np.random.Generator, n: int = 6, m: int = 2) -> dict[str, Any]:
    return {
        "names": np.array([f"body{k}" for k in range(m)]),
        "time": np.arange(n) / 50,
        "R_world_body": rotation.random(rng, (n, m)),
        "p_world_body": rng.standard_normal((n, m, 3)),
    }


def packed(save: Any, **more: Any) -> bytes:
    stream = io.BytesIO()
    save(stream, **arrays(np.random.default_rng(0), 3), **more)
    return stream.getvalue()


SMALL: dict[str, bytes] = {
    "plain": packed(np.savez),
    "compressed": packed(np.savez_compressed, segment=np.array([0, 0, 1])),
}


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "take.npz"


def fault(path: Path) -> CondyleError:
    with pytest.raises(CondyleError) as error:
        read(path)
    assert error.value.path == str(path)
    return error.value


def test_the_arrays_come_back_bit_for_bit(path: Path, rng: np.random.Generator) -> None:
    values = arrays(rng)
    np.savez_compressed(path, **values, segment=[0, 0, 0, 1, 1, 1], extra=np.zeros(3))
    take = read(path)
    assert take.names == ("body0", "body1")
    assert take.segment.tolist() == [0, 0, 0, 1, 1, 1]
    assert take.sources == (str(path),)
    assert take.findings == ()
    np.testing.assert_array_equal(take.R_world_body, values["R_world_body"])
    np.testing.assert_array_equal(take.p_world_body, values["p_world_body"])


@pytest.mark.parametrize("dtype", ["<f4", ">f8", "<f8", ">f4"])
@pytest.mark.parametrize("order", ["C", "F"])
def test_other_float_types_and_orders_are_read(path: Path, rng: np.random.Generator, dtype: str, order: Any) -> None:
    values = arrays(rng)
    cast = {
        key: value if key == "names" else np.asarray(value.astype(dtype), order=order) for key, value in values.items()
    }
    np.savez(path, **cast)
    np.testing.assert_allclose(read(path).p_world_body, values["p_world_body"], rtol=1e-6)


def test_names_as_bytes_are_read(path: Path, rng: np.random.Generator) -> None:
    np.savez(path, **{**arrays(rng), "names": np.array([b"hip", "Fuß".encode()])})
    assert read(path).names == ("hip", "Fuß")


def test_without_time_the_frames_are_counted_and_that_is_told(path: Path, rng: np.random.Generator) -> None:
    values = arrays(rng)
    del values["time"]
    np.savez(path, **values)
    take = read(path)
    assert [finding.code for finding in take.findings] == ["no-time"]
    assert take.time[1] == 0.01
    assert read(path, rate=50).findings == ()


def test_one_frame_of_one_body_is_a_take(path: Path, rng: np.random.Generator) -> None:
    np.savez(path, **arrays(rng, 1, 1))
    assert read(path).frames == 1


def test_nan_and_infinity_are_masked_for_that_body_only(path: Path, rng: np.random.Generator) -> None:
    values = arrays(rng)
    values["p_world_body"][2, 0, 1] = np.inf
    values["R_world_body"][3, 1] = np.nan
    np.savez(path, **values)
    assert np.argwhere(~read(path).seen).tolist() == [[2, 0], [3, 1]]


def test_a_file_of_nothing_but_nan_is_read_as_wholly_unseen(path: Path, rng: np.random.Generator) -> None:
    values = arrays(rng)
    values["p_world_body"][:] = np.nan
    values["R_world_body"][:] = np.nan
    np.savez(path, **values)
    assert not read(path).seen.any()


@pytest.mark.parametrize(("n", "m"), [(0, 2), (6, 0), (0, 0)])
def test_no_frames_or_no_bodies_is_an_error(path: Path, rng: np.random.Generator, n: int, m: int) -> None:
    np.savez(path, **{**arrays(rng, n, m), "names": np.array(["a", "b"][:m], dtype="U3")})
    assert fault(path).code == "no-data"


@pytest.mark.parametrize("key", ["names", "R_world_body", "p_world_body"])
def test_a_missing_array_is_named_with_those_that_are_there(path: Path, rng: np.random.Generator, key: str) -> None:
    values = arrays(rng)
    values["other"] = values.pop(key)
    np.savez(path, **values)
    error = fault(path)
    assert error.code == "missing-array"
    assert f"no array '{key}'; the file holds" in error.text
    assert "other" in error.text
    assert error.text.endswith("give its poses to condyle.Take.from_poses and save them with condyle.write_take")


@pytest.mark.parametrize(
    ("key", "value", "words"),
    [
        ("p_world_body", np.zeros((6, 2)), r"'p_world_body' has shape (6, 2), expected (frames, bodies, 3)"),
        ("R_world_body", np.zeros((5, 2, 3, 3)), "'R_world_body' has shape (5, 2, 3, 3), expected (6, 2, 3, 3)"),
        ("time", np.zeros(7), "'time' has shape (7,), expected (6,)"),
        ("names", np.array(["a"]), "'names' has shape (1,), expected (2,)"),
        ("names", np.array("a"), "'names' has shape (), expected (2,)"),
        ("segment", np.zeros(6), "'segment' has type float64, expected whole numbers"),
        ("time", np.array(["a"] * 6), "'time' has type <U1, expected numbers [s]"),
        ("p_world_body", np.zeros((6, 2, 3), complex), "'p_world_body' has type complex128, expected numbers [m]"),
        ("names", np.arange(2), "'names' has type int64, expected text"),
    ],
)
def test_a_wrong_shape_or_type_is_named_with_what_is_expected(
    path: Path, rng: np.random.Generator, key: str, value: Any, words: str
) -> None:
    np.savez(path, **{**arrays(rng), key: value})
    assert words in fault(path).text


@pytest.mark.parametrize("key", ["names", "time", "p_world_body"])
def test_a_pickle_in_the_file_is_refused_and_never_run(path: Path, rng: np.random.Generator, key: str) -> None:
    class Bomb:
        def __reduce__(self) -> Any:
            return (pytest.fail, ("the pickle was run",))

    np.savez(path, **{**arrays(rng), key: np.array([Bomb(), Bomb()], dtype=object)})
    error = fault(path)
    assert error.code == "pickled-array"
    assert f"'{key}' holds Python objects" in error.text


def test_a_bare_pickle_under_an_array_name_is_refused(path: Path, rng: np.random.Generator) -> None:
    np.savez(path, **arrays(rng))
    with zipfile.ZipFile(path) as archive:
        members = {name: archive.read(name) for name in archive.namelist()}
    members["names.npy"] = pickle.dumps(["a", "b"])
    with zipfile.ZipFile(path, "w") as archive:
        for name, data in members.items():
            archive.writestr(name, data)
    assert fault(path).code == "damaged-file"


def _npy_of_zeros(shape: tuple[int, ...]) -> bytes:
    stream = io.BytesIO()
    np.lib.format.write_array_header_1_0(stream, {"descr": "<f8", "fortran_order": False, "shape": shape})
    return stream.getvalue()


@pytest.mark.costly
def test_a_small_file_that_unpacks_to_gigabytes_is_refused_before_it_is_unpacked(
    path: Path, rng: np.random.Generator
) -> None:
    n = 2**18
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, shape in (("p_world_body", (n, 8, 3)), ("R_world_body", (n, 8, 3, 3))):
            with archive.open(f"{name}.npy", "w", force_zip64=True) as stream:
                stream.write(_npy_of_zeros(shape))
                for _ in range(8 * int(np.prod(shape)) // 2**18):
                    stream.write(bytes(2**18))
        stream_names = io.BytesIO()
        np.save(stream_names, np.array([f"b{k}" for k in range(8)]))
        archive.writestr("names.npy", stream_names.getvalue())
    assert path.stat().st_size < 2**20
    error = fault(path)
    assert error.code == "suspicious-size"
    assert "claim to unpack to 192 MiB" in error.text


def test_a_directory_that_claims_more_bytes_than_the_file_has_is_refused(path: Path, rng: np.random.Generator) -> None:
    np.savez(path, **arrays(rng))
    raw = bytearray(path.read_bytes())
    entry = raw.rfind(b"PK\x01\x02", 0, raw.rfind(b"p_world_body.npy"))
    raw[entry + 20 : entry + 28] = (2**31 - 1).to_bytes(4, "little") * 2
    path.write_bytes(raw)
    assert fault(path).code == "damaged-file"


def test_an_array_header_that_claims_more_than_its_member_holds_is_refused(
    path: Path, rng: np.random.Generator
) -> None:
    np.savez(path, **arrays(rng))
    with zipfile.ZipFile(path) as archive:
        members = {name: archive.read(name) for name in archive.namelist()}
    members["p_world_body.npy"] = _npy_of_zeros((10**9, 2, 3))
    with zipfile.ZipFile(path, "w") as archive:
        for name, data in members.items():
            archive.writestr(name, data)
    error = fault(path)
    assert error.code == "damaged-file"
    assert "(1000000000, 2, 3)" in error.text


@pytest.mark.sized
def test_a_file_cut_anywhere_is_an_error_and_never_a_crash(path: Path, rng: np.random.Generator) -> None:
    np.savez_compressed(path, **arrays(rng, 3, 1))
    whole = path.read_bytes()
    for length in cut_lengths(whole):
        path.write_bytes(whole[:length])
        fault(path)


def test_a_file_with_any_byte_changed_is_read_or_refused_and_never_a_crash(
    path: Path, rng: np.random.Generator
) -> None:
    np.savez(path, **arrays(rng, 3, 1))
    whole = path.read_bytes()
    for place in rng.permutation(len(whole))[: pick(100, 400, 400)]:
        damaged = bytearray(whole)
        damaged[place] ^= int(rng.integers(1, 256))
        path.write_bytes(damaged)
        with contextlib.suppress(CondyleError):
            read(path)


def test_faults_found_by_the_take_name_the_file(path: Path, rng: np.random.Generator) -> None:
    np.savez(path, **{**arrays(rng), "time": np.full(6, np.nan)})
    assert fault(path).code == "bad-time"
    np.savez(path, **{**arrays(rng), "names": np.array(["a", "a"])})
    assert fault(path).code == "duplicate-name"
