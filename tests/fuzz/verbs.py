"""The verbs that come after a fit, with a damaged folder, a damaged file beside it, or a spoilt later recording."""

from __future__ import annotations

import tempfile
import warnings
from functools import cache
from pathlib import Path

import numpy as np

import condyle

from .adversity import KINDS, MOST_KINDS, Poses
from .damage import check_written, damage_arrays, damage_json, show
from .mutate import Mutator

Rng = np.random.Generator
FRAMES = 120  # of a person's calibration, and of the later recording
PERSON_FORMATS = "bvh,glb,fbx-script,mjcf,urdf,osim,mcap,c3d,csv,json,proportions"
MACHINE_FORMATS = "mjcf,urdf,osim,dh,mcap,json"
RIG_NAMES = ("anatomy", "bodies", "mixamo", "humanik", "vrm", "unreal", "unity", "smpl", "cmu", "slimevr")
ANGLES = (
    [], ["--convention", "xzy"], ["--convention", "opensim"], ["--convention", "opensim:gait2392"],
    ["--convention", "pig"], ["--convention", "rotvec"], ["--convention", "hinge"], ["--convention", "euler:ZXY"],
    ["--neutral", "quiet"], ["--neutral", "none"], ["--neutral", "0.5"], ["--neutral", "0.2:0.4", "--zero"],
    ["--heading", "travel"], ["--heading", "facing"], ["--heading=-y"], ["--to", "csv,mot", "--keep-locked"],
)  # fmt: skip
SIDE_FILES = {
    "landmarks.toml": b'[thigh_l]\nlateral = [0.021, -0.048, 0.115]\nmedial = [0.02, 0.05, 0.115]\n',
    "map.toml": b'[bones]\n"mixamorig:Hips" = "pelvis"\n"mixamorig:Head" = "head"\n"mixamorig:Spine" = ""\n',
}  # fmt: skip
NOT_OF_FILES = ("odd_names", "one_body")  # kinds of adversity that leave no recording of the same person


@cache
def sound_person() -> dict[str, bytes]:
    """The folder of a person's fit, and rigs for the motion."""
    from tests.make.rigs import standing_person, write_bvh_rig, write_glb_rig

    whole = standing_person()
    tree = [(joint.parent, joint.child) for joint in whole.skeleton.joints]
    with tempfile.TemporaryDirectory() as place:
        condyle.fit(whole.take.slice(0, FRAMES), tree=tree).save(Path(place) / "out", report=False)
        write_bvh_rig(Path(place) / "rig.bvh")
        write_glb_rig(Path(place) / "rig.glb")
        return read_files(Path(place)) | SIDE_FILES


@cache
def sound_machine() -> dict[str, bytes]:
    from tests.make.machines import made

    one = made("scara")
    with tempfile.TemporaryDirectory() as place:
        condyle.fit(one.take.slice(0, 4 * FRAMES), intervals=False).save(Path(place) / "out", report=False)
        return read_files(Path(place))


def read_files(folder: Path) -> dict[str, bytes]:
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def later_take(rng: Rng, folder: Path, spoilt: bool) -> Path:
    """Another recording of the person, perhaps spoilt in one to MOST_KINDS ways, as a file that says so of itself."""
    from tests.make.rigs import standing_person

    take = standing_person().take.slice(FRAMES, 2 * FRAMES)
    poses = Poses(list(take.names), take.p_world_body.copy(), take.R_world_body.copy(), take.time.copy())
    if spoilt:
        kinds = [name for name in KINDS if name not in NOT_OF_FILES]
        with np.errstate(all="ignore"):
            for name in rng.choice(kinds, int(rng.integers(1, MOST_KINDS + 1)), replace=False):
                KINDS[str(name)](poses, rng)
    rows = {"time": poses.time, "segment": poses.segment}
    arrays = {"names": np.array(poses.names), "p_world_body": poses.p, "R_world_body": poses.R}
    np.savez(folder / "later.npz", **arrays, **{name: row for name, row in rows.items() if row is not None})
    return folder / "later.npz"


def damage_folder(files: dict[str, bytes], rng: Rng) -> None:
    """Damages one of the files of a fit; its manifest goes, or it would be all that is seen."""
    name = str(rng.choice(["out/motion.npz", "out/skeleton.json", "out/options.toml"]))
    if name == "out/motion.npz" and rng.random() < 0.8:
        with np.errstate(all="ignore"), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            files[name] = damage_arrays(files[name], rng)
    elif name == "out/skeleton.json" and rng.random() < 0.8:
        files[name] = damage_json(files[name], rng)
    else:
        files[name] = Mutator([files[name]], rng).next()
    files.pop("out/manifest.json")


def run_verbs(rng: Rng, folder: Path) -> None:
    """A verb after a fit: the folder is damaged, or a file beside it, or the recording that comes later."""
    how = int(rng.integers(4))  # 0, 1: folder; 2: file beside it; 3: later recording
    machine = how < 2 and rng.random() < 0.25
    files = dict(sound_machine() if machine else sound_person())
    beside = [name for name in files if "/" not in name]
    chosen = str(rng.choice(beside)) if how == 2 else ""
    if how < 2:
        damage_folder(files, rng)
    elif how == 2:
        files[chosen] = Mutator([files[chosen]], rng).next()
    for name, data in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_bytes(data)
    out, more = str(folder / "out"), str(folder / "more")
    if machine:
        words = choose(rng, machine_words(out, more))
    elif how == 2:
        words = beside_words(out, more, folder, chosen)
    else:
        later = str(later_take(rng, folder, spoilt=how == 3))
        words = choose(rng, later_words(rng, out, more, later) if how == 3 else folder_words(rng, out, more, folder))
    (folder / "more").mkdir()
    show(words)
    check_written(folder / "more")


def choose(rng: Rng, of: list[list[str]]) -> list[str]:
    return of[int(rng.integers(len(of)))]


def machine_words(out: str, more: str) -> list[list[str]]:
    return [
        ["axes", out, "--to", "json,csv", "-o", more],
        ["axes", out, "--zero", "1.0"],
        ["export", out, "--to", MACHINE_FORMATS, "-o", more],
        ["coverage", out],
        ["angles", out, "--convention", "hinge", "-o", more],
    ]


def beside_words(out: str, more: str, folder: Path, name: str) -> list[str]:
    if name == "landmarks.toml":
        return ["angles", out, "--landmarks", str(folder / name), "-o", more]
    if name == "map.toml":
        return ["retarget", out, "--rig", str(folder / "rig.bvh"), "--map", str(folder / name), "-o", more]
    return ["retarget", out, "--rig", str(folder / name), "-o", more]


def folder_words(rng: Rng, out: str, more: str, folder: Path) -> list[list[str]]:
    later, rig = str(folder / "later.npz"), str(folder / ("rig.bvh" if rng.random() < 0.5 else "rig.glb"))
    angles = ANGLES[int(rng.integers(len(ANGLES)))]
    names = str(rng.choice(RIG_NAMES))
    return [
        ["angles", out, "-o", more, *angles],
        ["angles", out, later, "-o", more, *angles],
        ["export", out, "--to", PERSON_FORMATS, "--names", names, "-o", more],
        ["export", out, "--to", "mjcf,urdf,osim", "--body-mass", "70", "--motion", "play", "-o", more],
        ["retarget", out, "--rig", rig, "-o", more],
        ["retarget", out, "--lengths", "l_thigh=1.1,r_shank=0.9", "-o", more],
        ["solve", later, "--skeleton", out, "-o", more, "--no-report"],
        ["solve", later, "--skeleton", out, "--remounted", "-o", more],
        ["profile", out, "-o", str(folder / "more" / "performer.json")],
        ["compare", out, out, "-o", str(folder / "more" / "page.html")],
        ["axes", out, "-o", more],
    ]


def later_words(rng: Rng, out: str, more: str, later: str) -> list[list[str]]:
    angles = ANGLES[int(rng.integers(len(ANGLES)))]
    return [
        ["solve", later, "--skeleton", out, "-o", more, "--no-report", "--export", PERSON_FORMATS],
        ["solve", later, "--skeleton", out, "--remounted"],
        ["angles", out, later, "-o", more, *angles],
        ["angles", out, "--neutral-file", later, "-o", more],
        ["fit", later, "--register", "auto", "--no-intervals"],
        ["fit", later, later, "--remounted", "--no-intervals"],
        ["info", later],
        ["doctor", later],
        ["scale", later, "--distance", "300", "--pair", "pelvis:chest"],
    ]
