"""Eyes: drooping lid, red eye and cataract on the close-up face."""

from __future__ import annotations

from dataclasses import replace

from .portrait import Edit, portrait, sample_face
from .spec import Draw, Params, Task, Texts, Words, common, side, stage
from .stage import Image

PHOTO = "clinical photography"


def _sample(d: Draw) -> Params:
    p = common(d)
    sample_face(d, p)
    p["severity"] = d.real(0.0, 1.0)
    p["near"] = d.real(0.0, 1.0)
    p["face"]["gaze"] = d.real(-0.12, 0.12)
    return p


def _droop(p: Params) -> tuple[Image, Image]:
    st = stage(p, (128.0, 121.0), 1.75 + 0.25 * p["near"])
    low = 0.36 - 0.34 * p["severity"]
    return portrait(st, p, Edit(open=low)), portrait(st, p, Edit())


def _close(p: Params, sick: Edit) -> tuple[Image, Image]:
    st = stage(p, (128.0 - p["face"]["gap"], 119.0), 4.1 + 1.0 * p["near"])
    return portrait(st, p, sick), portrait(st, p, replace(sick, redness=0.0, cloud=0.0))


def _red(p: Params) -> tuple[Image, Image]:
    return _close(p, Edit(redness=0.75 + 0.45 * p["severity"]))


def _cataract(p: Params) -> tuple[Image, Image]:
    return _close(p, Edit(cloud=0.82 + 0.18 * p["severity"]))


def _side(p: Params) -> Words:
    return {"side": side(p, "left")}


TASKS = (
    Task("Eyes", "Correct drooping eyelid", "correction", PHOTO, _sample, _droop, Texts(
        "drooping eyelid",
        (
            "Lift the drooping eyelid on the {side} side of the image.",
            "Correct the drooping eyelid of the eye on the {side}.",
            "Raise the drooping eyelid so that both eyes are open equally.",
            "Fix the drooping eyelid on the {side} side so it matches the other eye.",
        ),
        (
            "Open the half-closed {side} eye to the same height as its partner.",
            "Make the upper lid on the {side} sit as high as the one opposite.",
            "Bring the sagging lid up and make the two eyes symmetrical.",
            "Undo the ptosis so that the pupil of the {side} eye is no longer covered.",
        ),
        (
            "In this clinical photograph of the eyes, raise the ptotic upper eyelid on the {side} "
            "side until the pupil is uncovered and the lid crease matches the other eye.",
            "Clinical photograph: correct the unilateral ptosis on the {side} so that lid height "
            "and palpebral aperture become symmetrical while iris and skin stay unchanged.",
        ), _side)),
    Task("Eyes", "Remove eye redness", "removal", PHOTO, _sample, _red, Texts(
        "eye redness",
        (
            "Remove the eye redness.",
            "Clear the eye redness so the white of the eye looks healthy.",
            "Take away the eye redness without changing the iris.",
            "Get rid of the eye redness and the swollen vessels.",
        ),
        (
            "Make the bloodshot sclera white again.",
            "Turn the inflamed white of the eye back to its normal colour.",
            "Show this eye without bloodshot vessels.",
            "Calm the irritated eye so that the sclera looks clear.",
        ),
        (
            "In this close-up clinical photograph of an eye, remove the conjunctival redness and "
            "dilated vessels so that the sclera appears white with only faint normal vessels.",
            "Clinical photograph: eliminate the conjunctival injection and restore a clear white "
            "sclera while lids, lashes, iris and pupil remain exactly as they are.",
        ))),
    Task("Eyes", "Remove cataract", "removal", PHOTO, _sample, _cataract, Texts(
        "cataract",
        (
            "Remove the cataract from this eye.",
            "Clear the cataract so that the pupil looks black.",
            "Take out the cataract and show a clear pupil.",
            "Edit the eye as it would look after the cataract is removed.",
        ),
        (
            "Replace the cloudy white pupil with a clear black one.",
            "Make the milky pupil dark and transparent again.",
            "Show the eye with a clear lens instead of the white haze.",
            "Get rid of the whitish clouding behind the iris.",
        ),
        (
            "In this close-up clinical photograph of an eye, remove the white lens opacity seen "
            "through the pupil so that the pupil appears uniformly black.",
            "Clinical photograph: eliminate the mature cataract and restore a clear dark pupil "
            "while the iris pattern, lids and lashes are left unchanged.",
        ))),
)  # fmt: skip
