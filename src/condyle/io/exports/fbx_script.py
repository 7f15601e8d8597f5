"""A script with which Blender makes FBX of the GLB beside it. docs/exports/fbx.md tells how to run it."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from .scene import FigureFormat, Scene, Written

SUFFIX = ".fbx.py"
SCRIPT = '''"""Makes FBX of a GLB that condyle wrote:

blender --background --factory-startup --python THIS_FILE [-- figure.glb [figure.fbx]]
"""

import pathlib
import sys

import bpy

given = sys.argv[sys.argv.index("--") + 1 :] if "--" in sys.argv else []
source = pathlib.Path(given[0]) if given else pathlib.Path(__file__).resolve().with_name({glb})
target = pathlib.Path(given[1]) if len(given) > 1 else source.with_suffix(".fbx")
if not source.is_file():
    sys.exit(f"{{source}} is not there; write it with condyle export --to glb, or name another behind --")
bpy.ops.wm.read_factory_settings(use_empty=True)
scene = bpy.context.scene
scene.render.fps, scene.render.fps_base = {fps}, {fps_base}  # the recording's, so that a frame is a frame
bpy.ops.import_scene.gltf(filepath=str(source))
actions = list(bpy.data.actions)
if actions:
    scene.frame_start = int(min(action.frame_range[0] for action in actions))
    scene.frame_end = round(max(action.frame_range[1] for action in actions))
bpy.ops.export_scene.fbx(
    filepath=str(target),
    object_types={{"ARMATURE", "MESH"}},
    add_leaf_bones=False,
    bake_anim=True,
    bake_anim_use_all_actions=len(actions) > 1,
    bake_anim_use_nla_strips=False,
    bake_anim_simplify_factor=0.0,
    path_mode="STRIP",
)
print(f"wrote {{target}}")
'''


def write_fbx_script(scene: Scene, path: Path) -> Written:
    """The script for the GLB of the same name."""
    rate = scene.figure.rate
    fps = max(1, round(rate)) if np.isfinite(rate) else 30
    base = fps / rate if np.isfinite(rate) else 1.0
    glb = f"{path.name.removesuffix(SUFFIX)}.glb"
    path.write_bytes(SCRIPT.format(glb=repr(glb), fps=fps, fps_base=repr(float(base))).encode())
    return Written((path,), scene.figure.findings)


FORMAT = FigureFormat("fbx-script", "a script for Blender that makes FBX of the GLB", SUFFIX, write_fbx_script)
