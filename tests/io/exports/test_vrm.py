from __future__ import annotations

import json
import struct
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from condyle.errors import CondyleError
from condyle.io.exports.export import write_figure
from condyle.io.exports.rigs import RIGS
from condyle.io.exports.scene import Scene
from condyle.prepare.read import read
from condyle.simulate import human, prop, simulate, together
from tests.make import moving
from tests.make.clients import ask_node, client

PLACES = 1e-6  # m: single precision, along a chain of bones

OPEN = """
globalThis.self = globalThis;
(async () => {
  const three = await import("three");
  const { GLTFLoader } = await import("three/examples/jsm/loaders/GLTFLoader.js");
  const { VRMLoaderPlugin } = await import("@pixiv/three-vrm");
  const raw = require("fs").readFileSync(facts.file);
  const data = raw.buffer.slice(raw.byteOffset, raw.byteOffset + raw.byteLength);
  const loader = new GLTFLoader();
  loader.register((parser) => new VRMLoaderPlugin(parser));
  const { userData, scene, animations } = await loader.parseAsync(data, "");
  const { humanoid, meta } = userData.vrm;
  const locate = () => {
    scene.updateMatrixWorld(true);
    const bones = Object.entries(humanoid.humanBones);
    return Object.fromEntries(bones.map(([name, { node }]) =>
      [name, new three.Vector3().setFromMatrixPosition(node.matrixWorld).toArray()]));
  };
  const rest = locate();
  const mixer = new three.AnimationMixer(scene);
  mixer.clipAction(animations[0]).play();
  mixer.setTime(facts.time);
  const moved = locate();
  mixer.stopAllAction();
  humanoid.resetNormalizedPose();
  humanoid.getNormalizedBoneNode("leftUpperArm").rotation.z = -Math.PI / 2;
  humanoid.update();
  answer({ rest, moved, lowered: locate(), version: meta.metaVersion });
})();
"""
VALIDATE = """
const validator = require("gltf-validator");
(async () => {
  const { issues } = await validator.validateBytes(new Uint8Array(require("fs").readFileSync(facts)));
  answer(issues);
})();
"""


def _write(one: moving.Moving, folder: Path, **options: Any) -> Path:
    (file,) = write_figure(Scene(one.skeleton, one.motion, one.take, **options), "vrm", folder).files
    assert file.name == "figure.vrm"
    return file


def _content(file: Path) -> dict[str, Any]:
    raw = file.read_bytes()
    (length,) = struct.unpack_from("<I", raw, 12)
    found: dict[str, Any] = json.loads(raw[20 : 20 + length])
    return found


@pytest.mark.parametrize("names", ["anatomy", "bodies", "unreal"])
def test_the_fifteen_required_bones_are_nodes_of_their_names(names: str, tmp_path: Path) -> None:
    content = _content(_write(moving.person(seconds=1), tmp_path, names=names))
    assert content["extensionsUsed"] == ["VRMC_vrm"]
    avatar = content["extensions"]["VRMC_vrm"]
    assert avatar["specVersion"] == "1.0"
    assert {"name", "authors", "licenseUrl"} <= set(avatar["meta"])
    bones = avatar["humanoid"]["humanBones"]
    assert set(bones) == RIGS["vrm"].needed
    for name, bone in bones.items():
        assert content["nodes"][bone["node"]]["name"] == name


def test_a_thing_beside_the_person_is_no_bone(tmp_path: Path) -> None:
    one = moving.moving(together([simulate(human(), "walk", seconds=1, rate=30), prop(seconds=1, rate=30)]))
    content = _content(_write(one, tmp_path))
    assert "b_prop" in {node["name"] for node in content["nodes"]}
    assert len(content["extensions"]["VRMC_vrm"]["humanoid"]["humanBones"]) == 15


def test_it_is_read_back_as_a_glb(tmp_path: Path) -> None:
    one = moving.person(seconds=1)
    figure = Scene(one.skeleton, one.motion, names="vrm").figure.turn_up("y")
    take = read(_write(one, tmp_path)).select(figure.names)
    np.testing.assert_allclose(take.p_world_body, figure.world[1], atol=PLACES)


def test_a_person_without_a_required_bone_is_refused_with_its_name(tmp_path: Path) -> None:
    one = moving.tree({"pelvis": "", "chest": "pelvis", "head": "chest", "l_upper_arm": "chest"})
    with pytest.raises(CondyleError, match=r"VRM requires bones that no sensor was worn on: leftFoot, .*; glb holds"):
        _write(one, tmp_path)
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("who", ["a chain", "two people"])
def test_only_one_person_is_an_avatar(who: str, tmp_path: Path) -> None:
    one = moving.links()
    if who == "two people":
        one = moving.moving(together([simulate(human(), "walk", seconds=1, rate=30, seed=seed) for seed in (1, 2)]))
    with pytest.raises(CondyleError, match=r"a VRM is of one person, and the figure has (none|2 people)"):
        _write(one, tmp_path)
    assert not list(tmp_path.iterdir())


def test_the_validator_of_gltf_finds_no_fault(tmp_path: Path) -> None:
    issues = ask_node("gltf", VALIDATE, str(_write(moving.person(seconds=1), tmp_path)))
    assert (issues["numErrors"], issues["numWarnings"]) == (0, 0)
    assert {one["code"] for one in issues["messages"]} <= {"UNSUPPORTED_EXTENSION"}, "it does not know VRM"


def test_three_vrm_opens_the_avatar_moves_it_and_lowers_its_arm(tmp_path: Path) -> None:
    if not (client("gltf") / "node_modules" / "@pixiv" / "three-vrm").is_dir():
        pytest.skip("three-vrm is not beside gltf-validator")
    one = moving.person(seconds=2)
    figure = Scene(one.skeleton, one.motion, names="vrm").figure.turn_up("y")
    time = float(figure.time[37] - figure.time[0])
    told = ask_node("gltf", OPEN, {"file": str(_write(one, tmp_path)), "time": time})
    assert told["version"] == "1"
    assert set(told["rest"]) == RIGS["vrm"].needed
    for found, expected in ((told["rest"], figure.rest[1]), (told["moved"], figure.world[1][37])):
        np.testing.assert_allclose([found[name] for name in figure.names], expected, atol=PLACES)
    arm, hand = (np.array(told["lowered"][name]) for name in ("leftUpperArm", "leftHand"))
    length = np.linalg.norm(np.subtract(told["rest"]["leftHand"], told["rest"]["leftUpperArm"]))
    np.testing.assert_allclose(hand - arm, [0, -length, 0], atol=1e-5)
