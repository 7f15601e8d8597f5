"""Labels of markers to places on a person, and to the marker set they are of."""

from __future__ import annotations

import pytest

from condyle.prepare.marker_names import MarkerMeaning, is_mere_number, name_markers, spell

PLUG_IN_GAIT = [
    "LFHD",
    "RFHD",
    "LBHD",
    "RBHD",
    "C7",
    "T10",
    "CLAV",
    "STRN",
    "RBAK",
    "LSHO",
    "LUPA",
    "LELB",
    "LFRM",
    "LWRA",
    "LWRB",
    "LFIN",
    "RSHO",
    "RUPA",
    "RELB",
    "RFRM",
    "RWRA",
    "RWRB",
    "RFIN",
    "LASI",
    "RASI",
    "LPSI",
    "RPSI",
    "LTHI",
    "LKNE",
    "LTIB",
    "LANK",
    "LHEE",
    "LTOE",
    "RTHI",
    "RKNE",
    "RTIB",
    "RANK",
    "RHEE",
    "RTOE",
]
LOWER = [label for label in PLUG_IN_GAIT if label[1:] in {"ASI", "PSI", "THI", "KNE", "TIB", "ANK", "HEE", "TOE"}]
SETS = {
    "Plug-in Gait": PLUG_IN_GAIT,
    "Plug-in Gait, lower body": LOWER,
    "CGM2": [
        *LOWER,
        *(f"{side}{name}" for side in "LR" for name in ("THAP", "THAD", "TIAP", "TIAD", "KNM", "MED", "SMH")),
    ],
    "Helen Hayes": [
        *("V.Sacral", "Top.Head"),
        *(
            f"{side}.{name}"
            for side in "LR"
            for name in ("ASIS", "Shoulder", "Elbow", "Wrist", "Thigh", "Knee", "Shank", "Ankle", "Heel", "Toe")
        ),
    ],
    "Rizzoli (IOR), names of Van Sint Jan": [
        *("CV7", "TV2", "TV7", "SJN", "SXS"),
        *(
            side + name
            for side in "LR"
            for name in [
                "IAS",
                "IPS",
                "CAJ",
                "HLE",
                "HME",
                "RSP",
                "USP",
                "HM2",
                "FTC",
                "TH",
                "FLE",
                "FME",
                "TTC",
                "FAX",
                "FAL",
                "TAM",
                "FCC",
                "FM1",
                "FM2",
                "FM5",
                "AH",
                "PH",
            ]
        ),
    ],
    "Rajagopal 2016": [
        *("C7", "CLAV"),
        *(
            side + name
            for side in "LR"
            for name in [
                "ASI",
                "PSI",
                "ACR",
                "UA1",
                "UA2",
                "LEL",
                "MEL",
                "FAsuperior",
                "FAradius",
                "FAulna",
                "TH1",
                "TH2",
                "TH3",
                "TB1",
                "TB2",
                "CAL",
                "TOE",
                "MT5",
            ]
        ),
    ],
    "Qualisys Sports": [
        *("HeadL", "HeadR", "HeadFront", "Chest", "SpineThoracic2", "SpineThoracic12", "WaistLFront", "WaistRFront"),
        *("WaistL", "WaistR", "WaistBack"),
        *(
            side + name
            for side in "LR"
            for name in (
                *("ShoulderTop", "Arm", "ElbowOut", "ElbowIn", "WristIn", "WristOut", "Hand2", "ThighFrontLow"),
                *("KneeOut", "KneeIn", "ShinFrontHigh", "AnkleOut", "HeelBack", "Forefoot2", "Forefoot5"),
            )
        ),
    ],
    "CMU 41 and 53": [
        *(label for label in PLUG_IN_GAIT if label[1:] not in {"ASI", "PSI", "TIB", "BAK"}),
        *("LFWT", "RFWT", "LBWT", "RBWT", "LSHN", "RSHN", "LMT5", "RMT5", "RBAC"),
    ],
}


BIOMECH_57 = [
    *("SJN", "SXS", "CV7", "TV2", "TV7"),
    *(
        side + name
        for side in "LR"
        for name in (
            *(
                "AH",
                "PH",
                "HGT",
                "CAJ",
                "UA",
                "HLE",
                "HME",
                "USP",
                "RSP",
                "HM2",
                "IAS",
                "IPS",
                "FTC",
                "FLE",
                "FME",
                "TH",
            ),
            *("SK", "TTC", "FAX", "FAL", "TAM", "FM1", "FM2", "FM5", "FCC"),
        )
    ),
]


def test_optitrack_s_biomech_has_the_names_of_van_sint_jan() -> None:
    found = name_markers([f"Bob:{label}" for label in BIOMECH_57])
    assert found.title == "Rizzoli (IOR), names of Van Sint Jan"
    assert found.explained == len(BIOMECH_57)
    assert {found.meaning[f"Bob:L{name}"].place for name in ("TH", "SK", "FTC")} == {"thigh"}


@pytest.mark.parametrize("title", SETS)
def test_a_marker_set_is_recognised_by_its_names(title) -> None:
    found = name_markers(SETS[title])
    assert found.title == title
    assert set(found.meaning) == set(SETS[title])


@pytest.mark.parametrize("change", [lambda s: f"Tom:{s}", lambda s: f"Skeleton_{s}", str.lower], ids=["a", "b", "c"])
def test_subject_prefix_and_case_do_not_matter(change) -> None:
    plain = name_markers(PLUG_IN_GAIT).meaning
    assert name_markers([change(label) for label in PLUG_IN_GAIT]).meaning == {change(k): v for k, v in plain.items()}


@pytest.mark.parametrize(
    ("label", "side", "place"),
    [
        ("L.Knee.Medial", "l", "knee"),
        ("R_Thigh_Front", "r", "thigh"),
        ("TempleL", "", "head"),
        ("AcromionL", "l", "shoulder"),
        ("WaistLFront", "", "pelvis"),
        ("r.ASIS_study", "", "pelvis"),
        ("r_5meta", "r", "foot"),
        ("RSH", "r", "shoulder"),
        ("R.SH2", "r", "shank"),
        ("T10", "", "thorax"),
        ("left_shank_3", "l", "shank"),
    ],
)
def test_labels_of_laboratories_are_understood(label, side, place) -> None:
    assert name_markers([label]).meaning[label] == MarkerMeaning(side, place)


@pytest.mark.parametrize(
    "label",
    [
        "LHJC",
        "R_HJC_reg",
        "PELO",
        "LFEA",
        "RTIP",
        "TRXL",
        "CentreOfMass",
        "CofP1",
        "LHipAngles",
        "LAnkleForce",
        "MidASIS",
    ],
)
def test_computed_points_are_no_markers(label) -> None:
    found = name_markers(["LASI", "RASI", "SACR", label])
    assert found.computed == (label,)
    assert label not in found.meaning


def test_what_is_a_marker_in_one_set_is_computed_in_another() -> None:
    oxford = [*LOWER, *(f"L{name}" for name in ["HFB", "TUB", "SHN", "CPG", "LCA", "STL", "P1M", "P5M", "D5M"])]
    assert "LTIB1" in name_markers([*oxford, "LTIB1"]).computed
    assert name_markers(["LTIB1", "LTIB2", "LTIB3"]).meaning["LTIB1"] == MarkerMeaning("l", "shank")


@pytest.mark.parametrize(
    ("label", "number"), [("*12", True), ("M003", True), ("Arm:Marker 4", True), ("C7", False), ("LTHI", False)]
)
def test_labels_that_only_count_are_told(label, number) -> None:
    assert is_mere_number(label) == number


def test_a_side_that_is_spelt_out_is_the_only_reading() -> None:
    assert spell("L.Elbow") == [("l", "elbow")]
    assert spell("LKNE")[0] == ("l", "kne")


def test_nothing_is_made_of_nothing() -> None:
    found = name_markers([])
    assert (found.title, found.worn, found.meaning) == ("", (), {})
