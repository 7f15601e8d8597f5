"""The pictures of docs/exports/mjcf.md and osim.md, from the files that their commands write.

By a python with mujoco and pillow, and opensim for the second: `make_mechanisms.py sim/walk.xml mjcf.png`,
`make_mechanisms.py sim/walk.osim osim.png`; where there is no screen, with MUJOCO_GL=egl.
"""

from __future__ import annotations

import sys
from pathlib import Path

import mujoco
import numpy as np
from PIL import Image

FRAMES = (90, 300)  # of the walk, beside the rest pose
PANEL_PX = (400, 520)  # width, height
SCENE = """<mujoco><visual><headlight ambient="0.3 0.3 0.3" diffuse="0.4 0.4 0.4" specular="0 0 0"/></visual><asset>
<texture type="skybox" builtin="gradient" rgb1="0.9 0.93 0.96" rgb2="0.6 0.7 0.8" width="64" height="64"/>
<texture name="floor" type="2d" builtin="checker" rgb1="0.82 0.82 0.8" rgb2="0.74 0.74 0.72" width="128" height="128"/>
<material name="floor" texture="floor" texrepeat="1 1" texuniform="true"/></asset><worldbody>
<light pos="0 0 4" dir="0 0 -1" directional="true"/><geom type="plane" size="0 0 0.1" material="floor"/>{}
</worldbody></mujoco>"""


def draw(model: mujoco.MjModel, qpos: np.ndarray | None = None) -> np.ndarray:
    """A panel: the model in a pose, or as it stands in its file, from the front and a little from the side."""
    data = mujoco.MjData(model)
    if qpos is not None:
        data.qpos[:] = qpos
    mujoco.mj_forward(model, data)
    camera = mujoco.MjvCamera()
    solid = model.geom_type != mujoco.mjtGeom.mjGEOM_PLANE
    camera.lookat[:] = (data.geom_xpos[solid].min(axis=0) + data.geom_xpos[solid].max(axis=0)) / 2
    camera.distance, camera.azimuth, camera.elevation = 3.6, 70, -12
    model.vis.global_.offheight = PANEL_PX[1]
    with mujoco.Renderer(model, PANEL_PX[1], PANEL_PX[0]) as renderer:
        renderer.update_scene(data, camera)
        return renderer.render()


def draw_mjcf(path: Path) -> list[np.ndarray]:
    """Panels of an MJCF model and of the table of its motion beside it."""
    model = mujoco.MjModel.from_xml_path(str(path))
    table = np.loadtxt(path.with_name(f"{path.stem}-qpos.csv"), delimiter=",", skiprows=1, encoding="utf-8")
    return [draw(model), *(draw(model, table[frame, 1:]) for frame in FRAMES)]


def draw_osim(path: Path) -> list[np.ndarray]:
    """Panels of an OpenSim model: its shapes where OpenSim puts them, by the motion of the storage file beside it."""
    import opensim

    model = opensim.Model(str(path))
    rest = model.initSystem()
    storage = opensim.Storage(str(path.with_suffix(".sto")))
    states = opensim.StatesTrajectory.createFromStatesStorage(model, storage, True, True)
    return [
        draw(mujoco.MjModel.from_xml_string(SCENE.format(describe_shapes(model, state))))
        for state in (rest, *(states[frame] for frame in FRAMES))
    ]


def describe_shapes(model: object, state: object) -> str:
    """The shapes of an OpenSim model in one state as geoms of MJCF, in a world with z up."""
    import opensim

    model.realizePosition(state)
    shapes = []
    for frame in model.getComponentsList():
        held = opensim.PhysicalFrame.safeDownCast(frame)
        for k in range(held.getPropertyByName("attached_geometry").size() if held else 0):
            shape, pose = held.get_attached_geometry(k), held.getTransformInGround(state)
            x, y, z = (pose.p()[i] for i in range(3))
            R = np.array([[pose.R().get(i, j) for j in range(3)] for i in range(3)])[[0, 2, 1]] * [[1], [-1], [1]]
            if ball := opensim.Sphere.safeDownCast(shape):
                kind, size = "sphere", [ball.get_radius()]
            elif rod := opensim.Cylinder.safeDownCast(shape):  # along y, MuJoCo's along z
                kind, size, R = "cylinder", [rod.get_radius(), rod.get_half_height()], R[:, [2, 0, 1]]
            else:
                kind, size = "box", [opensim.Brick.safeDownCast(shape).get_half_lengths()[i] for i in range(3)]
            rgb = [shape.get_Appearance().get_color()[i] for i in range(3)]
            words = [("pos", [x, -z, y]), ("size", size), ("xyaxes", [*R[:, 0], *R[:, 1]]), ("rgba", [*rgb, 1])]
            shapes.append(f'<geom type="{kind}" ' + " ".join(f'{n}="{" ".join(map(str, v))}"' for n, v in words) + "/>")
    return "".join(shapes)


if __name__ == "__main__":
    source, out = Path(sys.argv[1]), sys.argv[2]
    panels = draw_osim(source) if source.suffix == ".osim" else draw_mjcf(source)
    Image.fromarray(np.concatenate(panels, axis=1)).quantize(256).save(out, optimize=True)
