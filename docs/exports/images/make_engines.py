"""The picture of docs/exports/engines.md, by a python with bpy: `make_engines.py unreal.glb unity.glb OUT.png`."""

from __future__ import annotations

import os
import sys

import bpy
import numpy as np
from mathutils import Vector

APART_M = 1.5
SHOWN = ("pelvis", "hips", "head", "calf_l", "leftlowerleg", "lowerarm_l", "leftlowerarm", "hand_l", "lefthand")


def open_rig(path: str, aside: float) -> bpy.types.Object:
    before = set(bpy.data.objects)
    bpy.ops.import_scene.gltf(filepath=path)
    made = set(bpy.data.objects) - before
    armature = next(one for one in made if one.type == "ARMATURE")
    for one in made:
        if one.parent is None:
            one.location.y += aside
    return armature


def write_names(armature: bpy.types.Object, camera: bpy.types.Object) -> None:
    ink = bpy.data.materials.new("ink")
    ink.use_nodes = True
    ink.node_tree.nodes["Principled BSDF"].inputs["Base Color"].default_value = (0.02, 0.05, 0.2, 1)
    for bone in armature.pose.bones:
        if bone.name.lower() not in SHOWN:
            continue
        text = bpy.data.curves.new(bone.name, "FONT")
        text.body, text.size = bone.name, 0.075
        label = bpy.data.objects.new(bone.name, text)
        bpy.context.scene.collection.objects.link(label)
        label.location = armature.matrix_world @ bone.head + Vector((0.35, 0.1, 0))
        label.rotation_euler = camera.rotation_euler
        label.data.materials.append(ink)


def make(unreal: str, unity: str, out: str) -> None:
    bpy.ops.wm.read_factory_settings(use_empty=True)
    scene = bpy.context.scene
    armatures = [open_rig(unreal, -APART_M / 2), open_rig(unity, APART_M / 2)]
    scene.frame_set(40)
    bpy.context.view_layer.update()
    heads = np.array([list(one.matrix_world @ bone.head) for one in armatures for bone in one.pose.bones])
    middle = heads.mean(axis=0)
    world = bpy.data.worlds.new("white")
    world.use_nodes = True
    world.node_tree.nodes["Background"].inputs["Strength"].default_value = 0.8
    world.node_tree.nodes["Background"].inputs["Color"].default_value = (1, 1, 1, 1)
    scene.world = world
    bpy.ops.object.light_add(type="SUN", rotation=(0.8, 0.1, 0.3))
    bpy.context.active_object.data.energy = 1.5
    bpy.ops.object.camera_add(location=(middle[0] + 4.6, middle[1], middle[2]), rotation=(np.pi / 2, 0, np.pi / 2))
    scene.camera = bpy.context.active_object
    for one in armatures:
        write_names(one, scene.camera)
    scene.render.engine, scene.cycles.samples, scene.cycles.device = "CYCLES", 12, "CPU"
    scene.view_settings.view_transform = "Standard"
    scene.render.resolution_x, scene.render.resolution_y = 720, 480
    scene.render.filepath = os.path.abspath(out)
    bpy.ops.render.render(write_still=True)


if __name__ == "__main__":
    make(*sys.argv[1:4])
    sys.stdout.flush()
    os._exit(0)  # bpy may wait for itself at the end
