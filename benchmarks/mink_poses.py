"""Times mink and MuJoCo on the same figure and frames; runs in an environment of its own, see kinematics.py.

    python mink_poses.py problem.npz [answer.npz]

problem.npz: parent (m,), p_child_joint, p_parent_joint (m, 3) [m], poses to fit R_world_body (n, m, 3, 3) and
p_world_body (n, m, 3), a start R_start and p_start (n, m, ...), sigma_position [m] and sigma_rotation [rad] (m,).
Prints one line of JSON: versions, and CPU seconds per frame of mink's steps and of the forward kinematics of MuJoCo and
pinocchio, each called frame by frame. Threads are as the environment says.
answer.npz gets the poses that mink came to after every number of steps, for both starts.
"""

import json
import sys
import time
from importlib.metadata import version

import mink
import mujoco
import numpy as np
import scipy.linalg

STEPS = 3
ROUNDS = 3  # of the forward kinematics, of which the least time counts


def main() -> None:
    problem = dict(np.load(sys.argv[1]))
    model = mujoco.MjModel.from_xml_string(figure(problem))
    q_start = configurations(model, problem, problem["R_start"], problem["p_start"])
    spent: dict[str, dict[str, float]] = {}
    poses = {}
    for start in ("previous frame", "measured poses"):
        for solver in ("daqp", "proxqp", "cholesky"):
            for steps in range(1, STEPS + 1):
                seconds, q = fit(model, problem, q_start, steps, solver, start == "measured poses")
                spent.setdefault(f"{solver}, {start}", {})[str(steps)] = seconds / len(q)
                if solver == "daqp":
                    poses[f"{start} {steps}"] = q
    if len(sys.argv) > 2:
        data = mujoco.MjData(model)
        answer = {name: world_poses(model, data, q) for name, q in poses.items()}
        np.savez(
            sys.argv[2],
            **{f"{name} {part}": a for name, pair in answer.items() for part, a in zip("Rp", pair, strict=True)},
        )
    names = ("mink", "mujoco", "pin", "daqp", "proxsuite", "numpy")
    told = {
        "versions": {name: version(name) for name in names},
        "native": bool(getattr(mink.tasks.frame_task, "_native", None)),
        "seconds": spent,
        "forward": {
            "MuJoCo": forward_time(model, q_start),
            "MuJoCo, poses kept in arrays": forward_time(model, q_start, keep=True),
            "pinocchio": pinocchio_time(problem, len(q_start)),
            "pinocchio, poses kept in arrays": pinocchio_time(problem, len(q_start), keep=True),
        },
    }
    print(json.dumps(told))


def figure(problem) -> str:
    """The figure as MJCF: body frames are the sensors', with a ball where the joint is."""
    children = {k: np.flatnonzero(problem["parent"] == k).tolist() for k in range(-1, len(problem["parent"]))}

    def words(v) -> str:
        return " ".join(repr(float(x)) for x in v)

    def body(k: int) -> str:
        free = problem["parent"][k] < 0
        place = np.zeros(3) if free else problem["p_parent_joint"][k] - problem["p_child_joint"][k]
        joint = "<freejoint/>" if free else f'<joint type="ball" pos="{words(problem["p_child_joint"][k])}"/>'
        mass = '<inertial pos="0 0 0" mass="1" diaginertia="1 1 1"/>'
        return f'<body name="b{k}" pos="{words(place)}">{joint}{mass}{"".join(map(body, children[k]))}</body>'

    return f"<mujoco><worldbody>{''.join(map(body, children[-1]))}</worldbody></mujoco>"


def configurations(model, problem, R, p):
    """(n, nq) of world rotations and the roots' places."""
    q = np.zeros((len(R), model.nq))
    for k, parent in enumerate(problem["parent"]):
        joint = model.body(f"b{k}").jntadr[0]
        at = model.jnt_qposadr[joint]
        for frame in range(len(R)):
            relative = R[frame, k] if parent < 0 else R[frame, parent].T @ R[frame, k]
            if parent < 0:
                q[frame, at : at + 3] = p[frame, k]
            place = at + 3 if parent < 0 else at
            mujoco.mju_mat2Quat(q[frame, place : place + 4], relative.ravel())
    return q


def fit(model, problem, q_start, steps, solver, from_measured):
    """CPU seconds, and the configurations after so many steps a frame."""
    n, m = problem["p_world_body"].shape[:2]
    configuration = mink.Configuration(model)
    tasks = [
        mink.FrameTask(f"b{k}", "body", 1 / problem["sigma_position"][k], 1 / problem["sigma_rotation"][k])
        for k in range(m)
    ]
    targets = [
        [
            mink.SE3.from_rotation_and_translation(mink.SO3.from_matrix(R), p)
            for R, p in zip(problem["R_world_body"][frame], problem["p_world_body"][frame], strict=True)
        ]
        for frame in range(n)
    ]
    out = np.empty_like(q_start)
    configuration.update(q_start[0])
    begin = time.process_time()
    for frame in range(n):
        for task, target in zip(tasks, targets[frame], strict=True):
            task.set_target(target)
        if from_measured:
            configuration.update(q_start[frame])
        for _ in range(steps):
            if solver == "cholesky":  # mink's own equations without a QP solver: none of its limits is in use
                qp = mink.build_ik(configuration, tasks, 1.0, 1e-12, limits=[])
                velocity = -scipy.linalg.cho_solve(scipy.linalg.cho_factor(qp.P, check_finite=False), qp.q)
            else:
                velocity = mink.solve_ik(configuration, tasks, 1.0, solver, 1e-12, limits=[])
            configuration.integrate_inplace(velocity, 1.0)
        out[frame] = configuration.q
    return time.process_time() - begin, out


def world_poses(model, data, q):
    R, p = [], []
    for one in q:
        data.qpos[:] = one
        mujoco.mj_kinematics(model, data)
        R.append(data.xmat[1:].reshape(-1, 3, 3).copy())
        p.append(data.xpos[1:].copy())
    order = [model.body(f"b{k}").id - 1 for k in range(len(p[0]))]
    return np.array(R)[:, order], np.array(p)[:, order]


def forward_time(model, q, keep=False) -> float:
    """CPU seconds per frame of MuJoCo's forward kinematics, called from Python; keep: its poses copied to arrays."""
    data, least = mujoco.MjData(model), np.inf
    R, p = np.empty((len(q), *data.xmat.shape)), np.empty((len(q), *data.xpos.shape))
    for _ in range(ROUNDS):
        begin = time.process_time()
        for frame, one in enumerate(q):
            data.qpos[:] = one
            mujoco.mj_kinematics(model, data)
            if keep:
                R[frame], p[frame] = data.xmat, data.xpos
        least = min(least, time.process_time() - begin)
    return least / len(q)


def pinocchio_time(problem, frames: int, keep=False) -> float:
    """CPU seconds per frame of pinocchio's forward kinematics of the same tree; keep: its poses copied to arrays."""
    import pinocchio

    model, joints = pinocchio.Model(), {}
    waiting = list(range(len(problem["parent"])))
    while waiting:
        k = next(k for k in waiting if problem["parent"][k] < 0 or problem["parent"][k] in joints)
        waiting.remove(k)
        above = int(problem["parent"][k])
        if above < 0:
            joints[k] = model.addJoint(0, pinocchio.JointModelFreeFlyer(), pinocchio.SE3.Identity(), f"j{k}")
            continue
        inboard = problem["p_child_joint"][above] if problem["parent"][above] >= 0 else np.zeros(3)
        place = pinocchio.SE3(np.eye(3), problem["p_parent_joint"][k] - inboard)
        joints[k] = model.addJoint(joints[above], pinocchio.JointModelSpherical(), place, f"j{k}")
    data, least = model.createData(), np.inf
    R, p = np.empty((frames, len(data.oMi), 3, 3)), np.empty((frames, len(data.oMi), 3))
    q = [pinocchio.randomConfiguration(model, -np.ones(model.nq), np.ones(model.nq)) for _ in range(frames)]
    for _ in range(ROUNDS):
        begin = time.process_time()
        for frame, one in enumerate(q):
            pinocchio.forwardKinematics(model, data, one)
            if keep:
                for k, pose in enumerate(data.oMi):
                    R[frame, k], p[frame, k] = pose.rotation, pose.translation
        least = min(least, time.process_time() - begin)
    return least / frames


if __name__ == "__main__":
    main()
