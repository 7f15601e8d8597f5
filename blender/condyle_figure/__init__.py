"""condyle in Blender: File > Import > condyle fit, and sessions of condyle live in the sidebar of the 3D view."""

from __future__ import annotations

import bpy
from bpy.props import BoolProperty, EnumProperty, StringProperty
from bpy_extras.io_utils import ImportHelper
from mathutils import Matrix

from .folder import TURNS, FolderError, read_folder
from .scene import build_fit, pose_bodies, show_bodies, to_matrices
from .stream import MotionStream, StreamError

LIVE_COLLECTION = "condyle live"
TICK_S = 1 / 30  # s between two looks at a session

_stream: MotionStream | None = None


class CONDYLE_OT_import(bpy.types.Operator, ImportHelper):
    """Open the folder that condyle fit wrote: armature in motion, sensors, joints, findings"""

    bl_idname = "import_scene.condyle"
    bl_label = "Import condyle fit"
    bl_options = {"REGISTER", "UNDO"}  # noqa: RUF012
    filename_ext = ".json"
    filter_glob: StringProperty(default="skeleton.json", options={"HIDDEN"})
    sensors: BoolProperty(name="Sensors", default=True, description="An empty for every sensor, as it was measured")

    def execute(self, context):
        try:
            fit = read_folder(self.filepath)
        except FolderError as error:
            self.report({"ERROR"}, str(error))
            return {"CANCELLED"}
        armature = build_fit(fit, sensors=self.sensors)
        known = [joint for joint in fit.joints if joint.half is not None]
        told = f"{armature.name}: {len(fit.joints)} joints, {len(known)} located, {len(fit.marks)} findings with a time"
        self.report({"INFO"}, told)
        return {"FINISHED"}


class CONDYLE_OT_follow(bpy.types.Operator):
    """Follow a session of condyle live on this machine: the active armature moves, or empties where there is none"""

    bl_idname = "condyle.follow"
    bl_label = "Follow"

    def execute(self, context):
        global _stream
        try:
            _stream = MotionStream(context.scene.condyle_address.strip())
        except StreamError as error:
            self.report({"ERROR"}, str(error))
            return {"CANCELLED"}
        bpy.app.timers.register(follow_tick)
        return {"FINISHED"}


class CONDYLE_OT_leave(bpy.types.Operator):
    """Follow the session no longer"""

    bl_idname = "condyle.leave"
    bl_label = "Stop"

    def execute(self, context):
        leave()
        return {"FINISHED"}


class CONDYLE_PT_live(bpy.types.Panel):
    """The panel of live sessions"""

    bl_label = "condyle live"
    bl_space_type = "VIEW_3D"
    bl_region_type = "UI"
    bl_category = "condyle"

    def draw(self, context):
        self.layout.prop(context.scene, "condyle_address", text="")
        self.layout.prop(context.scene, "condyle_up")
        following = _stream is not None and not _stream.ended
        self.layout.operator("condyle.leave" if following else "condyle.follow")


def follow_tick() -> float | None:
    """Shows what came since the last look; None, which ends it, once the session is over."""
    if _stream is None:
        return None
    frame = _stream.take()
    if frame is not None:
        show_frame(frame)
    return None if _stream.ended else TICK_S


def show_frame(frame: dict) -> None:
    """A frame on the active armature where it has bones of these bodies, else as empties and balls."""
    scene = bpy.context.scene
    turn = Matrix(TURNS[scene.condyle_up]).to_4x4()
    active = bpy.context.view_layer.objects.active
    if active is not None and active.type == "ARMATURE" and set(frame["bodies"]) & set(active.data.bones.keys()):
        pose_bodies(active, to_matrices(frame, turn))
        return
    collection = bpy.data.collections.get(LIVE_COLLECTION)
    if collection is None:
        collection = bpy.data.collections.new(LIVE_COLLECTION)
        scene.collection.children.link(collection)
    show_bodies(frame, turn, collection)


def leave() -> None:
    global _stream
    if _stream is not None:
        _stream.close()
        _stream = None


def _menu(self, context):
    self.layout.operator(CONDYLE_OT_import.bl_idname, text="condyle fit (skeleton.json)")


CLASSES = (CONDYLE_OT_import, CONDYLE_OT_follow, CONDYLE_OT_leave, CONDYLE_PT_live)


def register():
    for one in CLASSES:
        bpy.utils.register_class(one)
    bpy.types.Scene.condyle_address = StringProperty(
        name="Address", description="As condyle live printed it: http://127.0.0.1:40233/WORD/"
    )
    bpy.types.Scene.condyle_up = EnumProperty(
        name="Up", items=[(axis, axis, f"{axis} points up in the session") for axis in TURNS], default="z"
    )
    bpy.types.TOPBAR_MT_file_import.append(_menu)


def unregister():
    leave()
    bpy.types.TOPBAR_MT_file_import.remove(_menu)
    del bpy.types.Scene.condyle_up, bpy.types.Scene.condyle_address
    for one in reversed(CLASSES):
        bpy.utils.unregister_class(one)
