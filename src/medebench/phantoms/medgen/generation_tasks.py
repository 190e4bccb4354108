"""The six tasks that ask for an image and words about it."""

from __future__ import annotations

from collections.abc import Callable

import cv2
import numpy as np

from medebench.phantoms.drawings.noise import stream
from medebench.phantoms.drawings.phantom_spec import Draw
from medebench.phantoms.medgen.edit_tasks import shared_scene
from medebench.phantoms.medgen.picture_styles import Pixels, draw, picture_of, place
from medebench.phantoms.medgen.record import (
    HIGHLIGHT,
    OF_THE_PICTURE,
    Record,
    box_of,
    normalised,
    roi_of,
)
from medebench.phantoms.medgen.scene import THIRDS, Side, Third, slot
from medebench.phantoms.medgen.terms import NUMBERS, half, listed, named, where
from medebench.phantoms.medgen.volume import HEIGHTS, Body, axial, rendering, sample_body, sheet

#: By how much a lesion grows from an early to a late stage.
LATE = 1.8


def to_3d(seed: int, number: int) -> Record:
    body = sample_body(seed, number)
    prompt = (
        "These are axial slices of one body; the numbers are their heights from below. Render the "
        "body in three dimensions, from the front, with what is bright inside it in red, and say "
        f"how many balls it holds and where. {OF_THE_PICTURE}"
    )
    pictures = {"previous": sheet(body), "reference": rendering(body)}
    metadata = {"concatenation_method": "grid", "num_slices": len(HEIGHTS)}
    subtask, key = "3D segmentation mask", NUMBERS[len(body.balls)]
    return Record(prompt, "CT", pictures, _balls(body), key, subtask=subtask, metadata=metadata)


def _balls(body: Body) -> str:
    count = len(body.balls)
    places = [f"on the {one.side} at {one.height} percent of the height" for one in body.balls]
    noun = "ball" if count == 1 else "balls"
    return f"The body holds {NUMBERS[count]} {noun}: {listed(places)}."


def to_2d(seed: int, number: int) -> Record:
    body = sample_body(seed, number)
    d = Draw(stream(seed, f"medgen slice {number}"))
    height = d.pick(HEIGHTS[:3])
    there = [one for one in body.balls if one.height == height]
    colour = number % 2 == 1
    picture = axial(body, height)
    if colour:
        picture = np.ascontiguousarray(cv2.applyColorMap(picture, cv2.COLORMAP_BONE)[..., ::-1])
    kind = "in the colour table bone" if colour else "in grey"
    prompt = (
        f"This is a rendering of a body from the front. Draw its axial slice at {height} percent "
        f"of the height, counted from below, {kind}, and say on which side it cuts a ball, if any."
    )
    key = there[0].side if there else "no ball"
    cut = f"one ball, on the {key}" if there else key
    answer = f"The slice at {height} percent of the height cuts {cut}."
    metadata = {"slice_percentage": height, "output_type": "color" if colour else "grayscale"}
    pictures = {"previous": rendering(body), "reference": picture}
    subtask = "Colored Slice" if colour else "Grayscale Slice"
    return Record(prompt, "CT", pictures, answer, key, subtask=subtask, metadata=metadata)


def instruction_editing(seed: int, number: int) -> Record:
    scene = shared_scene(seed, number, "mark")
    drawn = draw(scene)
    [one] = scene.lesions
    box = box_of(drawn.mask, 6)
    prompt = f"Outline the {named(scene)} in red and say where it lies. {OF_THE_PICTURE}"
    answer = f"The {named(scene)} in {where(scene, one)} is outlined in red."
    pictures = {
        "previous": drawn.picture,
        "reference": outlined_circle(drawn.picture, *place(scene, one)),
        "roi": roi_of(box, drawn.picture.shape),
    }
    metadata = {"bbox": normalised(box, drawn.picture.shape), "edit_category": "highlight"}
    subtask = "Organ-based Annotation & Highlighting"
    return Record(
        prompt, scene.modality, pictures, answer, one.side, subtask=subtask, metadata=metadata
    )


def outlined_circle(picture: Pixels, x: float, y: float, radius: float) -> Pixels:
    marked = picture.copy()
    cv2.circle(marked, (round(x), round(y)), round(radius + 4), HIGHLIGHT, 2, cv2.LINE_8)
    return marked


def organic_removal(seed: int, number: int) -> Record:
    scene = shared_scene(seed, number, "mark")
    drawn = draw(scene)
    [one] = scene.lesions
    box = box_of(drawn.mask, 4)
    prompt = (
        f"Remove the {named(scene)}, show what would be there without it, and say where it was. "
        f"{OF_THE_PICTURE}"
    )
    answer = f"The {named(scene)} in {where(scene, one)} has been removed."
    pictures = {
        "previous": drawn.picture,
        "reference": picture_of(scene.healthy()),
        "roi": roi_of(box, drawn.picture.shape),
    }
    metadata = {"bbox": normalised(box, drawn.picture.shape)}
    subtask = "Anatomical Structure Removal"
    return Record(
        prompt, scene.modality, pictures, answer, one.side, subtask=subtask, metadata=metadata
    )


def organic_reconstruction(seed: int, number: int) -> Record:
    """A grey or blurred box over healthy tissue, on the side that has no lesion."""
    scene = shared_scene(seed, number, "later")
    [one] = scene.lesions
    side: Side = "right" if one.side == "left" else "left"
    third: Third = THIRDS[number % 3]
    picture = picture_of(scene)
    x, y = scene.stage().place([slot(scene.modality, side, third)])[0].tolist()
    box = (round(x) - 18, round(y) - 15, round(x) + 18, round(y) + 15)
    method = ("inpainting", "gaussian_blur")[number % 2]
    rows, columns = slice(box[1], box[3]), slice(box[0], box[2])
    masked = picture.copy()
    blurred = cv2.GaussianBlur(picture, (0, 0), 9.0)
    masked[rows, columns] = 127 if method == "inpainting" else blurred[rows, columns]
    what = "A grey box hides" if method == "inpainting" else "Blur hides"
    prompt = (
        f"{what} a part of this picture. Reconstruct it, and say in which half it lies. "
        f"{OF_THE_PICTURE}"
    )
    answer = f"The {third} third of the {half(scene, side)} has been reconstructed."
    pictures = {"previous": masked, "reference": picture, "roi": roi_of(box, picture.shape)}
    metadata = {"bbox": normalised(box, picture.shape), "masking_method": method}
    subtask = "Masked Reconstruction"
    return Record(
        prompt, scene.modality, pictures, answer, side, subtask=subtask, metadata=metadata
    )


def disease_prediction(seed: int, number: int) -> Record:
    early = shared_scene(seed, number, "later")
    drawn = draw(early.grown(LATE))
    [one] = early.lesions
    prompt = (
        f"Show this picture at a later stage, at which the {named(early)} has grown, and say "
        f"where. {OF_THE_PICTURE}"
    )
    answer = f"The {named(early)} in {where(early, one)} has grown."
    pictures = {"previous": picture_of(early), "reference": drawn.picture}
    box = box_of(drawn.mask, 2)
    pictures["roi"] = roi_of(box, drawn.picture.shape)
    metadata = {"bbox": normalised(box, drawn.picture.shape)}
    subtask = "Early to Late"
    return Record(
        prompt, early.modality, pictures, answer, one.side, subtask=subtask, metadata=metadata
    )


GENERATIONS: dict[str, Callable[[int, int], Record]] = {
    "2d-to-3d-reconstruction": to_3d,
    "3d-to-2d-projection": to_2d,
    "instruction-editing": instruction_editing,
    "organic-reconstruction": organic_reconstruction,
    "organic-removal": organic_removal,
    "disease-prediction": disease_prediction,
}
