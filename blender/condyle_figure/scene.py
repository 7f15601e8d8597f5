"""A fit as objects of Blender: an armature in motion, joints coloured by uncertainty, sensors, markers."""

from __future__ import annotations

import bmesh
import bpy
import numpy as np
from mathutils import Matrix, Vector

from .bones import Bones, find_basis, find_rest, lay_out_bones, to_quaternions
from .folder import FitFolder, Joint

WORST_M = 0.01  # m: half of a 95 % interval that has the last colour
STOPS = ((0.35, 0.60, 0.75), (0.95, 0.70, 0.20), (0.75, 0.20, 0.10), (0.35, 0.02, 0.15))  # from sure to worst
OPEN_COLOUR = (0.45, 0.45, 0.45)  # of a joint that the motion does not determine
JOINT_RADIUS_M, SENSOR_SIZE_M = 0.025, 0.03
BODY_KEY = "condyle_body"  # of a bone: the pose of its body at rest, row after row


def colour_of(half: float | None) -> tuple[float, float, float]:
    """The colour of a joint by half of its interval [m]; grey where it is not determined."""
    if half is None:
        return OPEN_COLOUR
    at = min(max(half / WORST_M, 0.0), 1.0) * (len(STOPS) - 1)
    low = min(int(at), len(STOPS) - 2)
    return tuple(a + (b - a) * (at - low) for a, b in zip(STOPS[low], STOPS[low + 1], strict=True))


def build_fit(fit: FitFolder, *, sensors: bool = True) -> bpy.types.Object:
    """Everything of a fit in a collection of its own; the armature is given back."""
    collection = bpy.data.collections.new(fit.name)
    bpy.context.scene.collection.children.link(collection)
    _set_clock(fit)
    bones = lay_out_bones(fit)
    armature = _build_armature(fit, bones, collection)
    frames = 1 + fit.time * fit.rate
    rest = np.array([np.array(armature.data.bones[name].matrix_local) for name in bones.names]).reshape(-1, 4, 4)
    order = [fit.bodies.index(name) for name in bones.names]
    basis = find_basis(bones, rest, fit.played[:, order])
    curves = _new_curves(armature, f"{fit.name} motion")
    for k, name in enumerate(bones.names):
        path = f'pose.bones["{bpy.utils.escape_identifier(name)}"]'
        _key(curves, path, frames, basis[:, k], place=bones.parent[k] < 0)
        armature.pose.bones[name].rotation_mode = "QUATERNION"
    for joint in fit.joints:
        if joint.child in bones.names:
            _build_joint(joint, bones, armature, collection)
    if sensors:
        for k, name in enumerate(fit.bodies):
            _build_sensor(name, fit.measured[:, k], frames, collection)
    for mark in fit.marks:
        marker = bpy.context.scene.timeline_markers.new(f"{mark.code}: {mark.text}"[:63])
        marker.frame = round(1 + mark.time * fit.rate)
    return armature


def pose_bodies(armature: bpy.types.Object, bodies: dict[str, Matrix]) -> None:
    """The armature with the bodies of its bones at these poses; other bones stay as they are on their parents."""
    world, posed = armature.matrix_world.inverted(), {}
    for bone in armature.pose.bones:  # parents first
        rest, above = bone.bone.matrix_local, bone.parent
        carried = rest if above is None else posed[above.name] @ above.bone.matrix_local.inverted() @ rest
        posed[bone.name] = carried @ bone.matrix_basis
        if bone.name in bodies and BODY_KEY in bone.bone:
            stored = list(bone.bone[BODY_KEY])
            body = Matrix([stored[4 * row : 4 * row + 4] for row in range(4)])
            posed[bone.name] = world @ bodies[bone.name] @ body.inverted() @ rest
            bone.rotation_mode = "QUATERNION"
            bone.matrix_basis = carried.inverted() @ posed[bone.name]


def show_bodies(frame: dict, turn: Matrix, collection: bpy.types.Collection) -> None:
    """A frame of a session as empties for bodies and balls for joints, made where they are missing."""
    for name, pose in to_matrices(frame, turn).items():
        _find(f"live {name}", collection, lambda: None, empty="CUBE").matrix_world = pose
    for name, place in frame["joints"].items():
        ball = _find(f"live joint {name}", collection, _ball_mesh)
        ball.matrix_world = Matrix.Translation(turn.to_3x3() @ Vector(place))


def to_matrices(frame: dict, turn: Matrix) -> dict[str, Matrix]:
    """Poses of the bodies of a session's frame, z up."""
    return {
        name: turn @ Matrix.LocRotScale(Vector(one["p"]), _quaternion(one["q"]), None)
        for name, one in frame["bodies"].items()
    }


def _quaternion(wxyz: list[float]):
    from mathutils import Quaternion

    return Quaternion(wxyz)


def _set_clock(fit: FitFolder) -> None:
    scene = bpy.context.scene
    scene.render.fps = max(1, round(fit.rate))
    scene.render.fps_base = scene.render.fps / fit.rate
    scene.frame_start, scene.frame_end = 1, round(1 + fit.time[-1] * fit.rate)


def _build_armature(fit: FitFolder, bones: Bones, collection: bpy.types.Collection) -> bpy.types.Object:
    data = bpy.data.armatures.new(fit.name)
    armature = bpy.data.objects.new(fit.name, data)
    collection.objects.link(armature)
    bpy.context.view_layer.objects.active = armature
    bpy.ops.object.mode_set(mode="EDIT")
    made = []
    for k, name in enumerate(bones.names):
        bone = data.edit_bones.new(name)
        bone.head, bone.tail = Vector(bones.head[k]), Vector(bones.tail[k])
        if bones.parent[k] >= 0:
            bone.parent = made[bones.parent[k]]
        made.append(bone)
    bpy.ops.object.mode_set(mode="OBJECT")
    half = {joint.child: joint.half for joint in fit.joints}
    for k, name in enumerate(bones.names):
        bone = data.bones[name]
        bone[BODY_KEY] = [float(x) for x in bones.body[k].ravel()]
        if name in half:
            bone.color.palette = "CUSTOM"
            bone.color.custom.normal = colour_of(half[name])
    data.display_type = "OCTAHEDRAL"
    armature["condyle_rest_frame"] = find_rest(fit) + 1
    return armature


def _new_curves(owner: bpy.types.Object, name: str):
    """Curves of a new action of an object."""
    action = bpy.data.actions.new(name)
    owner.animation_data_create().action = action
    if not hasattr(action, "slots"):
        return action.fcurves
    slot = action.slots.new(id_type="OBJECT", name=owner.name)
    owner.animation_data.action_slot = slot
    strip = action.layers.new("motion").strips.new(type="KEYFRAME")
    return strip.channelbag(slot, ensure=True).fcurves


def _key(curves, path: str, frames: np.ndarray, poses: np.ndarray, *, place: bool) -> None:
    """Keys of rotation, and of place where asked for, in the frames in which a pose is known."""
    known = np.isfinite(poses).all(axis=(1, 2))
    if not known.any():
        return
    told = [("rotation_quaternion", to_quaternions(poses[known, :3, :3]))]
    told += [("location", poses[known, :3, 3])] if place else []
    dot = "." if path else ""
    for what, values in told:
        for axis in range(values.shape[1]):
            curve = curves.new(f"{path}{dot}{what}", index=axis)
            curve.keyframe_points.add(int(known.sum()))
            curve.keyframe_points.foreach_set("co", np.stack([frames[known], values[:, axis]], axis=1).ravel())
            curve.update()


def _build_joint(joint: Joint, bones: Bones, armature: bpy.types.Object, collection: bpy.types.Collection) -> None:
    """A ball at a joint that goes with its bone."""
    ball = bpy.data.objects.new(f"joint {joint.child}", _ball_mesh())
    collection.objects.link(ball)
    colour = colour_of(joint.half)
    material = bpy.data.materials.new(f"joint {joint.child}")
    material.diffuse_color = (*colour, 1.0)
    material.use_nodes = True
    material.node_tree.nodes["Principled BSDF"].inputs["Base Color"].default_value = (*colour, 1.0)
    ball.data.materials.append(material)
    ball.color = (*colour, 1.0)
    ball["kind"] = joint.kind
    ball["half_of_95_percent_interval_mm"] = -1.0 if joint.half is None else 1000 * joint.half
    bone = armature.data.bones[joint.child]
    ball.parent, ball.parent_type, ball.parent_bone = armature, "BONE", joint.child
    ball.matrix_parent_inverse = (bone.matrix_local @ Matrix.Translation((0, bone.length, 0))).inverted()
    ball.location = bones.head[bones.names.index(joint.child)]


def _ball_mesh() -> bpy.types.Mesh:
    mesh, shape = bpy.data.meshes.new("joint"), bmesh.new()
    bmesh.ops.create_uvsphere(shape, u_segments=16, v_segments=10, radius=JOINT_RADIUS_M)
    shape.to_mesh(mesh)
    shape.free()
    return mesh


def _build_sensor(name: str, poses: np.ndarray, frames: np.ndarray, collection: bpy.types.Collection) -> None:
    """An empty where a sensor was measured."""
    sensor = bpy.data.objects.new(f"sensor {name}", None)
    sensor.empty_display_type, sensor.empty_display_size = "CUBE", SENSOR_SIZE_M
    sensor.rotation_mode = "QUATERNION"
    collection.objects.link(sensor)
    _key(_new_curves(sensor, f"sensor {name}"), "", frames, poses, place=True)


def _find(name: str, collection: bpy.types.Collection, make, empty: str = "") -> bpy.types.Object:
    found = collection.objects.get(name)
    if found is None:
        found = bpy.data.objects.new(name, make())
        if empty:
            found.empty_display_type, found.empty_display_size = empty, SENSOR_SIZE_M
        collection.objects.link(found)
    return found
