"""Nose: scar and raw defect from the front, dorsal hump in profile."""

from __future__ import annotations

import numpy as np

from .light import mix, tint
from .marks import ragged_disc, scar_fields
from .portrait import Edit, portrait, sample_face
from .profile import profile
from .spec import Draw, Params, Task, Texts, Words, common, side, stage
from .stage import Image

PHOTO = "clinical photography"


def _sample_front(d: Draw) -> Params:
    p = common(d)
    sample_face(d, p)
    p["near"] = d.real(0.0, 1.0)
    p["scar"] = [d.real(-8, -2), d.real(128, 136), d.real(-4, 6), d.real(141, 147), d.real(4, 12),
                 d.real(153, 158)]  # fmt: skip
    p["width"] = d.real(2.0, 2.9)
    p["stitches"] = d.whole(4, 7)
    p["defect"] = [d.real(6.0, 11.0), d.real(152.0, 159.0), d.real(5.6, 8.0)]
    p["face"]["gaze"] = 0.0
    return p


def _scar(p: Params) -> tuple[Image, Image]:
    st = stage(p, (128.0, 146.0), 2.25 + 0.45 * p["near"])
    s = p["scar"]
    path = [(128 + s[0], s[1]), (128 + s[2] * 0.7 - 1, s[3]), (128 + s[4], s[5])]
    blood, melanin, relief = scar_fields(st, path, p["width"], p["stitches"])
    return portrait(st, p, Edit(blood, melanin, relief)), portrait(st, p, Edit())


def _defect(p: Params) -> tuple[Image, Image]:
    st = stage(p, (128.0, 148.0), 2.3 + 0.45 * p["near"])
    dx, cy, r = p["defect"]
    cx = 128.0 + dx * p["face"]["nose"]
    hole = ragged_disc(st, cx, cy, r, "defect", 0.16)
    soft = st.blur(hole, 0.9)
    rim = np.clip(st.blur(hole, 1.6) - hole, 0, 1)
    flesh = (
        tint(np.array([0.80, 0.40, 0.34]), 0.25)
        * (0.78 + 0.10 * st.fractal("flesh", 2.4, 3))[..., None]
    )
    deep = st.gauss(cx - 0.8, cy - 1.2, r * 0.45)
    wet = np.clip(st.fractal("wet", 1.8, 2) - 1.3, 0, None) * hole

    def over(image: Image) -> Image:
        image = mix(image, flesh * (1 - 0.45 * deep)[..., None], 0.97 * soft)
        image = tint(image, 0.9 * rim, 0.5 * rim)
        return image + (0.4 * wet)[..., None]

    sick = Edit(blood=0.30 * st.blur(hole, 3.0), relief=-0.42 * r * soft, over=over)
    return portrait(st, p, sick), portrait(st, p, Edit())


def _sample_profile(d: Draw) -> Params:
    p = common(d)
    sample_face(d, p)
    p["hump"] = d.real(0.8, 1.25)
    p["tip"] = d.real(-2.0, 2.5)
    return p


def _hump(p: Params) -> tuple[Image, Image]:
    st = stage(p, (112.0, 140.0), 1.30)
    return profile(st, p, p["hump"]), profile(st, p, 0.0)


def _side(p: Params) -> Words:
    return {"side": side(p, "right")}


TASKS = (
    Task("Nose", "Remove nose scar", "removal", PHOTO, _sample_front, _scar, Texts(
        "scar",
        (
            "Remove the scar on the nose.",
            "Erase the stitched scar across the bridge of the nose.",
            "Take the red scar off the nose.",
            "Make the scar on the nose disappear.",
        ),
        (
            "Give the nose smooth, unmarked skin.",
            "Show this nose as if it had never been cut and sutured.",
            "Smooth the raised red line out of the nasal skin.",
            "Clean the healed wound off the bridge of the nose.",
        ),
        (
            "In this frontal clinical photograph of a nose, remove the raised erythematous scar "
            "with suture marks so that the nasal skin is smooth and even in colour.",
            "Clinical photograph: erase the linear scar crossing the nasal bridge and restore "
            "normal skin texture while the shape of the nose is preserved.",
        ))),
    Task("Nose", "Reconstruct nose defect", "reconstruction", PHOTO, _sample_front, _defect, Texts(
        "nose defect",
        (
            "Reconstruct the nose defect on the {side} side.",
            "Repair the nose defect so the wing of the nose is whole again.",
            "Close the nose defect with healthy skin.",
            "Rebuild the missing tissue of the nose defect on the {side}.",
        ),
        (
            "Cover the open wound on the {side} nostril with normal skin.",
            "Restore the eroded wing of the nose to its natural shape.",
            "Fill in the raw hole so that the nose looks intact.",
            "Show the nose after a successful flap repair, without the open sore.",
        ),
        (
            "In this frontal clinical photograph, reconstruct the full-thickness skin defect of "
            "the nasal ala on the {side} side so that its contour mirrors the opposite side.",
            "Clinical photograph: close the raw nasal wound on the {side} with matching skin and "
            "restore a continuous alar contour without altering the rest of the face.",
        ), _side)),
    Task("Nose", "Reduce dorsal hump", "correction", PHOTO, _sample_profile, _hump, Texts(
        "hump",
        (
            "Reduce the hump on the bridge of the nose.",
            "Smooth away the hump of the nose in this profile.",
            "Take down the dorsal hump so that the nose is straight.",
            "Flatten the bony hump on the nose.",
        ),
        (
            "Give the profile a straight nasal bridge.",
            "Show the result of a rhinoplasty with a straight dorsum.",
            "Refine the convex bridge into a straight line.",
            "Make the nose straight when seen from the side.",
        ),
        (
            "In this lateral clinical photograph, reduce the convex dorsal hump so that the nasal "
            "bridge runs straight from the root to the tip of the nose.",
            "Clinical profile photograph: straighten the nasal dorsum by removing the hump while "
            "the tip, lips, chin and forehead keep their outline.",
        ))),
)  # fmt: skip
