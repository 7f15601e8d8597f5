"""A figure as a stage of USD: prims, attributes and their samples. Imported where usd-core is installed only."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from pxr import Gf, Kind, Sdf, Tf, Usd, UsdGeom, UsdShade, UsdSkel, Vt  # type: ignore[import-not-found,import-untyped,unused-ignore]

from ..._version import __version__
from ...maths import rotation
from ...maths.arrays import Floats
from ...maths.series import even_places, even_step, mean_step
from .figure import Figure
from .gltf import align_signs
from .shapes import PART_COLOURS, DrawnPart, draw_parts, find_usual_length

ROOT_PRIM = "figure"  # the default prim
SKELETON_PRIM, ANIMATION_PRIM, MATERIALS_SCOPE = "skeleton", "motion", "materials"  # below a tree, beside its shapes
ROUGHNESS = 0.6
WHOLE_CODE_MAX_OFF = 1e-6  # of a frame: a time code as near to a whole number is one


def write_stage(figure: Figure, file: Path) -> None:
    """One stage: a figure in one segment that is y or z up and without unknown poses."""
    rate, codes = find_time_codes(figure.time)
    layer = Sdf.Layer.CreateAnonymous()  # a layer that is still open under this file's name would be in the way
    stage = Usd.Stage.Open(layer)
    UsdGeom.SetStageUpAxis(stage, UsdGeom.Tokens.y if figure.up == "y" else UsdGeom.Tokens.z)
    UsdGeom.SetStageMetersPerUnit(stage, 1.0)
    stage.SetTimeCodesPerSecond(rate)
    stage.SetFramesPerSecond(rate)
    stage.SetStartTimeCode(0.0)
    stage.SetEndTimeCode(float(codes[-1]) if len(codes) else 0.0)
    stage.SetMetadata("comment", f"condyle {__version__}" + (f", fit {figure.fit_id}" if figure.fit_id else ""))
    root = UsdGeom.Xform.Define(stage, f"/{ROOT_PRIM}").GetPrim()
    stage.SetDefaultPrim(root)
    Usd.ModelAPI(root).SetKind(Kind.Tokens.component)
    if figure.frames:
        root.SetCustomDataByKey("condyle:start", float(figure.time[0]))
    for tree in figure.trees():
        _define_tree(stage, tree, codes, find_usual_length(figure))
    try:
        layer.Export(str(file))
    except Tf.ErrorException as error:
        raise OSError(f"usd-core cannot write {file.name}: {error}") from None


def find_time_codes(time: Floats) -> tuple[float, Floats]:
    """Time codes per second, and the time code (n,) of every frame: its number, or where an uneven clock has it."""
    if even_places(time) is None:
        return 1 / mean_step(time), np.arange(len(time), dtype=np.float64)
    rate = 1 / even_step(time)
    codes = (time - time[0]) * rate
    near = np.round(codes)
    return rate, np.where(np.abs(codes - near) < WHOLE_CODE_MAX_OFF, near, codes)


def _define_tree(stage: Any, tree: Figure, codes: Floats, size: float) -> None:
    """A SkelRoot named after the tree's free bone, with the skeleton, its animation, the shapes and their materials.

    size  [m] of a usual link, which the shapes' sizes follow
    """
    path = f"/{ROOT_PRIM}/{tree.names[0]}"
    top = UsdSkel.Root.Define(stage, path)
    joints = Vt.TokenArray(name_joint_paths(tree))
    skeleton = UsdSkel.Skeleton.Define(stage, f"{path}/{SKELETON_PRIM}")
    R, p = tree.rest
    skeleton.CreateJointsAttr(joints)
    skeleton.CreateBindTransformsAttr(_matrices(R, p))
    skeleton.CreateRestTransformsAttr(_matrices(tree.R_parent_bone_rest, tree.p_parent_bone))
    for key in ("bodies", "joints", "kind"):
        skeleton.GetPrim().SetCustomDataByKey(f"condyle:{key}", Vt.StringArray(getattr(tree, key)))
    binding = UsdSkel.BindingAPI.Apply(skeleton.GetPrim())
    if tree.frames:
        motion = UsdSkel.Animation.Define(stage, f"{path}/{ANIMATION_PRIM}")
        motion.CreateJointsAttr(joints)
        motion.CreateScalesAttr(Vt.Vec3hArray(len(joints), Gf.Vec3h(1, 1, 1)))
        places, turns = _samples(tree)
        _set_samples(motion.CreateTranslationsAttr(), Vt.Vec3fArray, places, codes)
        _set_samples(motion.CreateRotationsAttr(), Vt.QuatfArray, turns, codes)
        binding.CreateAnimationSourceRel().SetTargets([motion.GetPath()])
    for part in draw_parts(tree, size):
        mesh = _define_mesh(stage, f"{path}/{part.name}", part)
        bound = UsdSkel.BindingAPI.Apply(mesh.GetPrim())
        bound.CreateSkeletonRel().SetTargets([skeleton.GetPath()])
        bound.CreateJointIndicesPrimvar(False, 1).Set(Vt.IntArray(part.bone.tolist()))
        bound.CreateJointWeightsPrimvar(False, 1).Set(Vt.FloatArray(len(part.bone), 1.0))
        bound.CreateGeomBindTransformAttr(Gf.Matrix4d(1.0))
        _bind_material(stage, mesh, f"{path}/{MATERIALS_SCOPE}", part.name)
    top.CreateExtentAttr(_vectors(_extent(tree, size)))


def name_joint_paths(tree: Figure) -> list[str]:
    """b joints as UsdSkel names them: each by the way from its root, "hips/thigh_l"."""
    paths: list[str] = []
    for name, up in zip(tree.names, tree.parent.tolist(), strict=True):
        paths.append(name if up < 0 else f"{paths[up]}/{name}")
    return paths


def _samples(tree: Figure) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
    """Translations (n, b, 3) [m] and rotations (n, b, 4) xyzw of the bones in their parents, in single precision."""
    places = np.empty((tree.frames, len(tree.names), 3), np.float32)
    places[:] = tree.p_parent_bone
    places[:, tree.free] = tree.p_world_free
    turns = np.empty((tree.frames, len(tree.names), 4), np.float32)
    for k in range(len(tree.names)):
        turns[:, k] = align_signs(rotation.to_quaternion(tree.R_parent_bone[:, k]))[:, [1, 2, 3, 0]]
    return places, turns


def _set_samples(attribute: Any, kind: Any, values: NDArray[np.float32], codes: Floats) -> None:
    """One value (b, ...) of an attribute per time code; USD has no call for all of them at once."""
    for code, row in zip(codes.tolist(), values, strict=True):
        attribute.Set(kind.FromNumpy(np.ascontiguousarray(row)), code)


def _matrices(R: Floats, p: Floats) -> Any:
    """Poses (b, 3, 3), (b, 3) as USD has matrices, which act on rows."""
    M = np.zeros((len(R), 4, 4))
    M[:, :3, :3], M[:, 3, :3], M[:, 3, 3] = np.swapaxes(R, -1, -2), p, 1.0
    return Vt.Matrix4dArray.FromNumpy(M)


def _vectors(values: Floats) -> Any:
    return Vt.Vec3fArray.FromNumpy(np.ascontiguousarray(values, np.float32))


def _define_mesh(stage: Any, path: str, part: DrawnPart) -> Any:
    mesh = UsdGeom.Mesh.Define(stage, path)
    mesh.CreatePointsAttr(_vectors(part.solid.point))
    mesh.CreateFaceVertexIndicesAttr(Vt.IntArray(part.solid.triangle.ravel().tolist()))
    mesh.CreateFaceVertexCountsAttr(Vt.IntArray([3] * len(part.solid.triangle)))
    mesh.CreateNormalsAttr(_vectors(part.solid.normal))
    mesh.SetNormalsInterpolation(UsdGeom.Tokens.vertex)
    mesh.CreateSubdivisionSchemeAttr(UsdGeom.Tokens.none)
    mesh.CreateExtentAttr(_vectors(np.stack([part.solid.point.min(axis=0), part.solid.point.max(axis=0)])))
    colour = np.array([PART_COLOURS[part.name]])
    mesh.CreateDisplayColorAttr(_vectors(colour))
    return mesh


def _bind_material(stage: Any, mesh: Any, folder: str, name: str) -> None:
    UsdGeom.Scope.Define(stage, folder)
    material = UsdShade.Material.Define(stage, f"{folder}/{name}")
    shader = UsdShade.Shader.Define(stage, f"{folder}/{name}/surface")
    shader.CreateIdAttr("UsdPreviewSurface")
    shader.CreateInput("diffuseColor", Sdf.ValueTypeNames.Color3f).Set(Gf.Vec3f(*PART_COLOURS[name]))
    shader.CreateInput("roughness", Sdf.ValueTypeNames.Float).Set(ROUGHNESS)
    shader.CreateInput("metallic", Sdf.ValueTypeNames.Float).Set(0.0)
    surface = shader.CreateOutput("surface", Sdf.ValueTypeNames.Token)
    material.CreateSurfaceOutput().ConnectToSource(surface)
    UsdShade.MaterialBindingAPI.Apply(mesh.GetPrim()).Bind(material)


def _extent(tree: Figure, size: float) -> Floats:
    """(2, 3) [m] corners of a box that holds the tree with its shapes in every frame and at rest."""
    (R, p), (R_rest, p_rest) = tree.world, tree.rest
    R, p = np.concatenate([R, R_rest[None]]), np.concatenate([p, p_rest[None]])
    ends = [p + np.einsum("nbij,bj->nbi", R, place) for place in (tree.tip, tree.p_bone_body)]
    points = np.concatenate([p, *ends]).reshape(-1, 3)
    return np.stack([points.min(axis=0) - size, points.max(axis=0) + size])
