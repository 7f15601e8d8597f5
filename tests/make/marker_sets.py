"""Marker sets as their makers list them, on a simulated person: what sits on which bone is written, not looked up."""

from __future__ import annotations

import numpy as np

from condyle.model.recording import Convention, Markers, Recording

from .walkers import RATE, walker

# {part: labels}, `@` for the letter of the side; a joint's markers are on the bone above it, the outer one first.
PLUG_IN_GAIT = {
    "pelvis": "@ASI @PSI", "chest": "C7 T10 CLAV STRN", "head": "@FHD @BHD", "scapula": "RBAK", "shoulder": "@SHO",
    "upper_arm": "@UPA", "elbow": "@ELB", "forearm": "@FRM", "wrist": "@WRA @WRB", "hand": "@FIN", "thigh": "@THI",
    "knee": "@KNE", "shank": "@TIB", "ankle": "@ANK", "foot": "@HEE @TOE",
}  # fmt: skip
LOWER = {part: PLUG_IN_GAIT[part] for part in ("pelvis", "thigh", "knee", "shank", "ankle", "foot")}
BIOMECH_57 = {
    "pelvis": "@IAS @IPS", "chest": "CV7 TV2 TV7 SJN SXS", "head": "@AH @PH", "shoulder": "@CAJ", "scapula": "@HGT",
    "upper_arm": "@UA", "elbow": "@HLE @HME", "wrist": "@RSP @USP", "hand": "@HM2", "thigh": "@TH @FTC @SK",
    "knee": "@FLE @FME", "shank": "@TTC @FAX", "ankle": "@FAL @TAM", "foot": "@FCC @FM2 @FM1 @FM5",
}  # fmt: skip
NO_IOR = ("upper_arm", "scapula")
SETS: dict[str, tuple[str, dict[str, str]]] = {  # {what it is: (the title that it is given, what is worn)}
    "Plug-in Gait": ("Plug-in Gait", PLUG_IN_GAIT),
    "Plug-in Gait, legs": ("Plug-in Gait, lower body", LOWER),
    "CGM2.3": (
        "CGM2",
        LOWER | {"thigh": "@THI @THAP @THAD", "knee": "@KNE @KNM", "shank": "@TIB @TIAP @TIAD", "ankle": "@ANK @MED"},
    ),
    "CGM2.5, whole": (
        "CGM2",
        PLUG_IN_GAIT
        | {"thigh": "@THI @THAP @THAD", "knee": "@KNE @KNM", "shank": "@TIB @TIAP @TIAD", "ankle": "@ANK @MED"}
        | {"foot": "@HEE @TOE @FMH @VMH"},
    ),
    "Helen Hayes (Cleveland)": (
        "Helen Hayes",
        {
            "pelvis": "@.ASIS V.Sacral", "head": "Top.Head Front.Head Rear.Head", "shoulder": "@.Shoulder",
            "elbow": "@.Elbow", "wrist": "@.Wrist", "thigh": "@.Thigh", "knee": "@.Knee @.Knee.Medial",
            "shank": "@.Shank", "ankle": "@.Ankle @.Ankle.Medial", "foot": "@.Heel @.Toe", "scapula": "R.Offset",
        },
    ),
    "Rizzoli, Leardini 2007 and 2011": (
        "Rizzoli (IOR), gait",
        {
            "pelvis": "@ASIS @PSIS", "chest": "C7 T2 MAI IJ PX", "shoulder": "@A", "elbow": "@LHE @MHE",
            "wrist": "@US @RS", "thigh": "@GT", "knee": "@LE @ME", "shank": "@TT @HF", "ankle": "@LM @MM",
            "foot": "@CA @SM @FM @VM",
        },
    ),
    "Rizzoli, names of Van Sint Jan": (
        "Rizzoli (IOR), names of Van Sint Jan",
        {part: labels.replace("@TH @FTC @SK", "@FTC") for part, labels in BIOMECH_57.items() if part not in NO_IOR},
    ),
    "OptiTrack Biomech 57": ("Rizzoli (IOR), names of Van Sint Jan", BIOMECH_57),
    "Rajagopal 2016": (
        "Rajagopal 2016",
        {
            "pelvis": "@ASI @PSI", "chest": "C7 CLAV", "shoulder": "@ACR", "upper_arm": "@UA1 @UA2 @UA3",
            "elbow": "@LEL @MEL", "forearm": "@FAsuperior", "wrist": "@FAradius @FAulna", "thigh": "@TH1 @TH2 @TH3",
            "knee": "@LFC @MFC", "shank": "@TB1 @TB2 @TB3", "ankle": "@LMAL @MMAL", "foot": "@CAL @TOE @MT5",
        },
    ),
    "Qualisys Sports": (
        "Qualisys Sports",
        {
            "pelvis": "Waist@Front Waist@ WaistBack", "chest": "Chest SpineThoracic2 SpineThoracic12",
            "head": "HeadFront Head@", "shoulder": "@ShoulderTop", "upper_arm": "@Arm", "elbow": "@ElbowOut @ElbowIn",
            "wrist": "@WristOut @WristIn", "hand": "@Hand2", "thigh": "@ThighFrontLow", "knee": "@KneeOut @KneeIn",
            "shank": "@ShinFrontHigh", "ankle": "@AnkleOut", "foot": "@HeelBack @Forefoot2 @Forefoot5",
        },
    ),
    "OptiTrack Conventional 39": ("Plug-in Gait", PLUG_IN_GAIT),
    "OptiTrack Baseline": (
        "OptiTrack Baseline and Core",
        {
            "pelvis": "Waist@Front Waist@Back", "chest": "Chest BackTop BackLeft BackRight",
            "head": "HeadTop HeadFront HeadSide", "shoulder": "@ShoulderTop", "scapula": "@ShoulderBack",
            "upper_arm": "@UArmHigh", "elbow": "@ElbowOut", "wrist": "@WristOut @WristIn", "hand": "@HandOut",
            "thigh": "@Thigh", "knee": "@KneeOut", "shank": "@Shin", "ankle": "@AnkleOut", "foot": "@ToeOut @ToeIn",
        },
    ),
    "CMU 41": (
        "CMU 41 and 53",
        PLUG_IN_GAIT
        | {"pelvis": "@FWT @BWT", "scapula": "RBAC", "shank": "@SHN", "foot": "@HEE @TOE @MT5"},
    ),
    "CMU 53": (
        "CMU 41 and 53",
        PLUG_IN_GAIT
        | {"pelvis": "@FWT @BWT", "scapula": "RBAC", "shank": "@SHN", "foot": "@HEE @TOE @MT5 @MT1"}
        | {"elbow": "@ELB @IEB", "wrist": "@IWR @OWR", "hand": "@IHAN @OHAN", "knee": "@KNE @KNI"},
    ),
}  # fmt: skip
WIDTH, DEPTH = 0.24, 0.15  # m of the pelvis
AROUND = ((0.02, 0.08, -0.55), (0.06, 0.03, -0.4), (0.05, 0.05, -0.7), (-0.03, 0.07, -0.5))
# Places [m] from the bone's upper joint, forward, outwards and, for limbs, in shares of its length up.
PLACES = {
    "thigh": AROUND,
    "shank": ((0.01, 0.055, -0.45), (0.05, 0.02, -0.2), (0.04, 0.03, -0.6)),
    "upper_arm": ((0.02, 0.05, -0.5), (0.04, 0.03, -0.3), (-0.03, 0.04, -0.7)),
    "forearm": ((0.02, 0.045, -0.5),),
    "hand": ((0.02, 0.01, -0.08), (-0.03, 0.02, -0.06)),
    "foot": ((-0.06, 0.0, -0.06), (0.15, 0.01, -0.06), (0.12, -0.04, -0.05), (0.10, 0.05, -0.07)),
    "shoulder": ((0.0, 0.02, 0.05),),
}
JOINTS = {"knee": ("thigh", 0.055), "ankle": ("shank", 0.04), "elbow": ("upper_arm", 0.045), "wrist": ("forearm", 0.03)}
TRUNK = {
    "chest": ((-0.11, 0.0, 0.33), (-0.12, 0.0, 0.02), (0.10, 0.0, 0.25), (0.11, 0.0, 0.08), (-0.11, 0.0, 0.2)),
    "head": ((0.10, 0.06, 0.15), (-0.08, 0.06, 0.14), (0.02, 0.0, 0.24)),
    "scapula": ((-0.12, 0.08, 0.18),),
    "pelvis": ((0.046, WIDTH / 2, 0.083), (-0.104, 0.04, 0.083), (-0.104, 0.0, 0.083)),
}


def wear(worn: dict[str, str], seed: int = 1, seconds: float = 6.0) -> tuple[Recording, dict[str, set[str]]]:
    """A walk of a person who wears a set, and {label: the bodies that it may be of}."""
    world, rng = walker(seed, "walk", seconds), np.random.default_rng(seed)
    truth = world.truth
    R = truth.R_world_body @ np.swapaxes(truth.mounts.R_bone_body, -1, -2)
    joint = truth.p_world_body + np.einsum("nmij,mj->nmi", truth.R_world_body, np.nan_to_num(truth.p_child_joint))
    at = {name: (R[:, k], joint[:, k]) for k, name in enumerate(truth.names)}
    at["pelvis"] = at["pelvis"][0], (at["l_thigh"][1] + at["r_thigh"][1]) / 2
    lengths = {body: length for (body, *_), length in truth.limbs.items()}
    tracks, owners = {}, {}
    for part, labels in worn.items():
        for k, label in enumerate(labels.split()):
            for side in "LR" if "@" in label else "R" if label[0] == "R" and part == "scapula" else "-":
                sign, own = {"L": (1, "l_"), "R": (-1, "r_"), "-": (0, "")}[side]
                body, place, may = _find_place(part, k, sign, own, lengths, side == "-")
                turn, origin = at[body]
                name = label.replace("@", side)
                tracks[name] = origin + turn @ (np.array(place) + 0.004 * rng.standard_normal(3))
                owners[name] = may
    points = np.stack(list(tracks.values()), axis=1)
    markers = Markers(tuple(tracks), points + 0.0003 * rng.standard_normal(points.shape))
    return Recording("walk.c3d", "made", markers=markers, rate=RATE, convention=Convention(unit="m", up="z")), owners


def _find_place(
    part: str, k: int, sign: int, own: str, lengths: dict[str, float], middle: bool
) -> tuple[str, tuple[float, float, float], set[str]]:
    """Bone, place in it, and the bodies that a marker may serve."""
    if part in TRUNK:
        x, y, z = TRUNK[part][min(k, len(TRUNK[part]) - 1)] if not (middle and part == "pelvis") else TRUNK["pelvis"][2]
        body = {"scapula": "chest"}.get(part, part)
        return body, (x, (sign or 1) * y, z), {{"chest": "thorax"}.get(body, body)}
    if part in JOINTS:
        above, out = JOINTS[part]
        below = {"knee": "shank", "ankle": "foot", "elbow": "forearm", "wrist": "hand"}[part]
        long = lengths.get(own + above, 0.26)
        return own + above, (0.005 * k, sign * out * (-1 if k else 1), -long), {own + above, own + below}
    bone = {"shoulder": "chest"}.get(part, own + part)
    if part == "shoulder":
        return bone, (0.0, sign * 0.17, 0.33), {"thorax", f"{own}upper_arm"}
    x, y, z = PLACES[part][min(k, len(PLACES[part]) - 1)]
    long = lengths.get(own + part, 0.26) if part in ("thigh", "shank", "upper_arm", "forearm") else 1.0
    return bone, (x, sign * y, z * long), {own + part}
