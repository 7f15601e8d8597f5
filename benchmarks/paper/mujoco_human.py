"""A person in MuJoCo, moved by motors in its joints; runs in an environment of its own, see human_dynamics.py.

    python mujoco_human.py facts.json in.npz out.npz

A free root and a ball joint for every other bone. Three position servos with damping drive each joint after smooth
references, gravity pulls, and the trunk hangs in an elastic harness, so that poses follow from forces alone.
"""

import json
import sys
from pathlib import Path

import mujoco
import numpy as np

STEP = 1 / 960  # s
SPRING, DAMPING = 900.0, 250.0  # N/m, N s/m of the harness, along each axis of the room
TWIST, SLOW = 60.0, 20.0  # N m/rad, N m s/rad that keep the trunk roughly upright
STIFF = {  # N m/rad of the servos
    "chest": 500.0,
    "head": 40.0,
    "upper_arm": 90.0,
    "forearm": 40.0,
    "hand": 8.0,
    "thigh": 350.0,
    "shank": 120.0,
    "foot": 25.0,
}
MASS = {  # kg
    "pelvis": 11.0,
    "chest": 30.0,
    "head": 5.5,
    "upper_arm": 2.1,
    "forearm": 1.2,
    "hand": 0.5,
    "thigh": 9.0,
    "shank": 3.4,
    "foot": 1.1,
}


def part(name):
    return name[2:] if name[:2] in ("l_", "r_") else name


def model_text(names, parent, p_parent_joint, p_bone_body, q_bone_body):
    """The person as MJCF. A bone is a capsule from its joint to the middle of the joints beyond it."""

    def words(values):
        return " ".join(repr(float(value)) for value in values)

    def bone(k):
        beyond = [j for j in range(len(names)) if parent[j] == k]
        if beyond:
            end = np.mean([p_parent_joint[j] for j in beyond], axis=0)
        else:
            end = 0.16 * p_parent_joint[k] / np.linalg.norm(p_parent_joint[k])
        if np.linalg.norm(end) < 0.05:
            end = np.array([0.0, 0.0, 0.05])
        joint = "<freejoint/>" if parent[k] < 0 else f'<joint name="{names[k]}" type="ball"/>'
        place = [0, 0, 1.1] if parent[k] < 0 else p_parent_joint[k]
        return (
            f'<body name="{names[k]}" pos="{words(place)}">{joint}'
            f'<geom type="capsule" size="0.045" fromto="0 0 0 {words(end)}" mass="{MASS[part(names[k])]}"/>'
            f'<site name="{names[k]}" pos="{words(p_bone_body[k])}" quat="{words(q_bone_body[k])}"/>'
            + "".join(bone(j) for j in beyond)
            + "</body>"
        )

    servos = "".join(
        f'<position joint="{names[k]}" gear="{words([*np.eye(3)[axis], 0, 0, 0])}" '
        f'kp="{STIFF[part(names[k])]}" kv="{0.08 * STIFF[part(names[k])]}"/>'
        for k in range(len(names))
        if parent[k] >= 0
        for axis in range(3)
    )
    return (
        f'<mujoco><option timestep="{STEP}" integrator="implicitfast"><flag contact="disable"/></option>'
        f"<worldbody>{bone(0)}</worldbody><actuator>{servos}</actuator></mujoco>"
    )


def references(rng, joints, seconds, swing):
    """Rotation vectors (steps, 3 joints) [rad] that the servos are asked for: sums of two slow sines on every axis."""
    time = np.arange(round(seconds / STEP)) * STEP
    frequency, phase = rng.uniform(0.2, 0.7, (2, 3 * joints)), rng.uniform(0, 2 * np.pi, (2, 3 * joints))
    waves = np.sin(2 * np.pi * frequency[:, None] * time[None, :, None] + phase[:, None])
    return swing * (0.65 * waves[0] + 0.35 * waves[1])


def main():
    facts = json.loads(Path(sys.argv[1]).read_text())
    given = np.load(sys.argv[2])
    names, parent, p_parent_joint = facts["names"], facts["parent"], given["p_parent_joint"]
    text = model_text(names, parent, p_parent_joint, given["p_bone_body"], given["q_bone_body"])
    model = mujoco.MjModel.from_xml_string(text)
    data = mujoco.MjData(model)
    rng = np.random.default_rng(facts["seed"])
    asked = references(rng, len(names) - 1, facts["seconds"] + facts["warm"], facts["swing"])
    path = references(rng, 1, facts["seconds"] + facts["warm"], 0.35)  # where the harness hangs [m]
    every = round(1 / facts["rate"] / STEP)
    first = round(facts["warm"] / STEP)
    root = mujoco.mj_name2id(model, mujoco.mjtObj.mjOBJ_BODY, names[0])
    bodies = [mujoco.mj_name2id(model, mujoco.mjtObj.mjOBJ_BODY, name) for name in names]
    sites = [mujoco.mj_name2id(model, mujoco.mjtObj.mjOBJ_SITE, name) for name in names]
    weight = -model.body_mass.sum() * model.opt.gravity[2]
    rows = {name: [] for name in ("R_site", "p_site", "R_bone", "p_bone", "torque", "off")}
    for k in range(len(asked)):
        data.ctrl[:] = asked[k]
        pull = SPRING * (np.array([1.2, 0.0, 1.1]) + path[k] - data.qpos[:3]) - DAMPING * data.qvel[:3]
        upright = np.cross(data.xmat[root].reshape(3, 3)[:, 2], [0.0, 0.0, 1.0])
        spin = data.xmat[root].reshape(3, 3) @ data.qvel[3:6]
        data.xfrc_applied[root] = [*(pull + [0, 0, weight]), *(TWIST * upright - SLOW * spin)]
        if k >= first and (k - first) % every == 0:
            mujoco.mj_forward(model, data)
            rows["R_site"].append(data.site_xmat[sites].reshape(-1, 3, 3).copy())
            rows["p_site"].append(data.site_xpos[sites].copy())
            rows["R_bone"].append(data.xmat[bodies].reshape(-1, 3, 3).copy())
            rows["p_bone"].append(data.xpos[bodies].copy())
            rows["torque"].append(data.actuator_force.copy())
            rows["off"].append(data.actuator_length - data.ctrl)
        mujoco.mj_step(model, data)
    rows = {name: np.array(values) for name, values in rows.items()}
    np.savez(sys.argv[3], **{name: rows[name] for name in ("R_site", "p_site", "R_bone", "p_bone")})
    answer = {
        "mujoco": mujoco.__version__,
        "degrees_of_freedom": int(model.nv),
        "bodies": len(names),
        "largest_torque": float(np.abs(rows["torque"]).max()),
        "off_reference": float(np.sqrt(np.mean(rows["off"] ** 2))),
    }
    print(json.dumps(answer))


if __name__ == "__main__":
    main()
