"""A picture of a fit in Blender, without a window, by a python with bpy: `blender/render.py DIR OUT.png [FRAME]`."""

from __future__ import annotations

import os
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))

import bpy
import numpy as np
from condyle_figure.folder import read_folder
from condyle_figure.scene import build_fit
from mathutils import Vector

BONE_RADIUS_M = 0.012
SAMPLES = 16  # of a pixel


def draw_bones(armature: bpy.types.Object) -> None:
    """Rods in the place of bones, which are not rendered."""
    material = bpy.data.materials.new("bone")
    material.use_nodes = True
    material.node_tree.nodes["Principled BSDF"].inputs["Base Color"].default_value = (0.55, 0.57, 0.6, 1)
    for bone in armature.pose.bones:
        for end in [child.head for child in bone.children] or [bone.tail]:
            head, tail = armature.matrix_world @ bone.head, armature.matrix_world @ end
            way = tail - head
            bpy.ops.mesh.primitive_cylinder_add(radius=BONE_RADIUS_M, depth=way.length, location=(head + tail) / 2)
            rod = bpy.context.active_object
            rod.rotation_mode = "QUATERNION"
            rod.rotation_quaternion = way.to_track_quat("Z", "Y")
            rod.data.materials.append(material)


def draw_sensors() -> None:
    """Cubes in the place of empties."""
    material = bpy.data.materials.new("sensor")
    material.use_nodes = True
    material.node_tree.nodes["Principled BSDF"].inputs["Base Color"].default_value = (0.03, 0.03, 0.04, 1)
    for empty in [one for one in bpy.data.objects if one.name.startswith("sensor ")]:
        bpy.ops.mesh.primitive_cube_add(size=0.035)
        bpy.context.active_object.matrix_world = empty.matrix_world.copy()
        bpy.context.active_object.data.materials.append(material)


def set_stage(points: np.ndarray) -> None:
    """Floor, light and a camera that sees all points."""
    scene = bpy.context.scene
    middle, size = points.mean(axis=0), float(np.ptp(points, axis=0).max())
    bpy.ops.mesh.primitive_plane_add(size=40, location=(*middle[:2], points[:, 2].min() - 0.05))
    bpy.ops.object.light_add(type="SUN", rotation=(0.7, 0.2, 0.4))
    bpy.context.active_object.data.energy = 1.6
    world = bpy.data.worlds.new("white")
    world.use_nodes = True
    world.node_tree.nodes["Background"].inputs["Color"].default_value = (0.9, 0.92, 0.95, 1)
    world.node_tree.nodes["Background"].inputs["Strength"].default_value = 0.45
    scene.world = world
    spread = np.linalg.svd((points - middle)[:, :2])[2][0]
    across = Vector((-spread[1], spread[0], 0.0))
    place = Vector(middle) + across * size * 2.6 + Vector((0, 0, size * 0.2))
    bpy.ops.object.camera_add(location=place)
    camera = bpy.context.active_object
    camera.rotation_mode = "QUATERNION"
    camera.rotation_quaternion = (Vector(middle) - place).to_track_quat("-Z", "Y")
    scene.camera = camera


def render(folder: str, out: str, frame: int) -> None:
    bpy.ops.wm.read_factory_settings(use_empty=True)
    armature = build_fit(read_folder(folder))
    scene = bpy.context.scene
    scene.frame_set(frame)
    bpy.context.view_layer.update()
    heads = np.array([list(armature.matrix_world @ bone.head) for bone in armature.pose.bones])
    draw_bones(armature)
    draw_sensors()
    set_stage(heads)
    scene.render.engine, scene.cycles.samples, scene.cycles.device = "CYCLES", SAMPLES, "CPU"
    scene.view_settings.view_transform = "Standard"
    scene.render.resolution_x, scene.render.resolution_y = 720, 560
    scene.render.filepath = os.path.abspath(out)
    bpy.ops.render.render(write_still=True)


if __name__ == "__main__":
    render(sys.argv[1], sys.argv[2], int(sys.argv[3]) if len(sys.argv) > 3 else 1)
    sys.stdout.flush()
    os._exit(0)  # bpy may wait for itself at the end
