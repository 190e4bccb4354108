"""The six editing tasks: a picture spoilt in a known way, or one that is to be drawn upon."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import cv2
import numpy as np

from medebench.phantoms.drawings.noise import grain, stream
from medebench.phantoms.drawings.phantom_spec import Draw
from medebench.phantoms.medgen.picture_styles import Pixels, draw, picture_of
from medebench.phantoms.medgen.record import HIGHLIGHT, Record, box_of, normalised, roi_of
from medebench.phantoms.medgen.scene import Scene, sample_scene
from medebench.phantoms.medgen.terms import half, named, where

#: Tables of colours by the name in the instruction.
COLOUR_MAPS = {
    "inferno": cv2.COLORMAP_INFERNO,
    "viridis": cv2.COLORMAP_VIRIDIS,
    "bone": cv2.COLORMAP_BONE,
    "ocean": cv2.COLORMAP_OCEAN,
}


def shared_scene(seed: int, number: int, group: str = "edit") -> Scene:
    """The scene that several tasks of one number share, so that their inputs are one picture."""
    return sample_scene(seed, f"{group} {number}", count=1)


def _details(seed: int, task: str, number: int) -> Draw:
    return Draw(stream(seed, f"medgen {task} {number}"))


def _rounded(values: Any) -> Pixels:
    return np.asarray(np.floor(np.clip(values, 0.0, 255.0) + 0.5), np.uint8)


def noise_reconstruction(seed: int, number: int) -> Record:
    scene, d = shared_scene(seed, number), _details(seed, "noise", number)
    clean = picture_of(scene)
    rng = stream(seed, f"medgen noise of {number}")
    kind = ("salt_pepper", "gaussian", "speckle")[number % 3]
    amount = {"salt_pepper": d.real(0.03, 0.09)}.get(kind, d.real(0.07, 0.14))
    if kind == "salt_pepper":
        drawn = rng.random(clean.shape[:2])
        noisy = clean.copy()
        noisy[drawn < amount / 2], noisy[drawn > 1 - amount / 2] = 0, 255
    else:
        field = grain(rng, (clean.shape[0], clean.shape[1]))[..., None] * amount
        noisy = _rounded(clean + (255 * field if kind == "gaussian" else clean * 2.0 * field))
    words = kind.replace("_pepper", "-and-pepper")
    prompt = f"Remove the {words} noise from this picture and keep every structure as it is."
    pictures = {"previous": noisy, "reference": clean}
    metadata = {"noise_type": kind, "noise_params": {"amount": amount}}
    return Record(prompt, scene.modality, pictures, subtask=kind, metadata=metadata)


def resolution_editing(seed: int, number: int) -> Record:
    scene = shared_scene(seed, number)
    sharp = picture_of(scene)
    factor = (2, 4)[number % 2]
    size = sharp.shape[0] // factor
    small = cv2.resize(sharp, (size, size), interpolation=cv2.INTER_AREA)
    prompt = f"Raise the resolution of this picture {factor} times; add nothing that is not there."
    metadata = {
        "scale_factor": factor,
        "downsample_method": "area",
        "low_resolution": [size, size],
        "original_resolution": list(sharp.shape[1::-1]),
    }
    pictures = {"previous": np.asarray(small, np.uint8), "reference": sharp}
    subtask = "Low-to High Resolution"
    return Record(
        prompt, scene.modality, pictures, subtask=subtask, grid="reference", metadata=metadata
    )


def artifact_removal(seed: int, number: int) -> Record:
    scene, d = shared_scene(seed, number), _details(seed, "artifact", number)
    clean = picture_of(scene)
    kind = ("zipper", "stripes", "ghost")[number % 3]
    spoilt = clean.astype(np.float64)
    high, wide = clean.shape[:2]
    if kind == "zipper":
        row = d.whole(60, 196)
        teeth = np.where(np.arange(wide) // 3 % 2 == 0, 255.0, 0.0)
        spoilt[row : row + 3] = teeth[None, :, None]
    elif kind == "stripes":
        wave = np.sin(2 * np.pi * np.arange(high) / d.real(7.0, 12.0))
        spoilt += 26.0 * wave[:, None, None]
    else:
        spoilt = 0.75 * spoilt + 0.25 * np.roll(spoilt, d.whole(18, 40), axis=0)
    names = {
        "zipper": "zipper artifact: a dashed line across the picture",
        "stripes": "stripe artifact: dark and bright bands across the picture",
        "ghost": "ghost artifact: a faint second copy of the picture, moved down",
    }
    prompt = f"Remove the {names[kind]}. Restore what lies below it."
    pictures = {"previous": _rounded(spoilt), "reference": clean}
    metadata = {"artifact_type": kind, "severity": "moderate"}
    return Record(prompt, scene.modality, pictures, subtask=kind, metadata=metadata)


def contrast_enhancement(seed: int, number: int) -> Record:
    scene, d = shared_scene(seed, number), _details(seed, "contrast", number)
    clean = picture_of(scene)
    share, base = d.real(0.25, 0.45), d.real(60.0, 110.0)
    prompt = "Enhance the contrast of this picture so that its structures can be told apart."
    pictures = {"previous": _rounded(base + share * clean), "reference": clean}
    metadata = {
        "enhancement_method": "linear stretch",
        "enhancement_params": {"share": share, "base": base},
    }
    subtask = "Contrast Enhancement"
    return Record(prompt, scene.modality, pictures, subtask=subtask, metadata=metadata)


def anatomical_annotation(seed: int, number: int) -> Record:
    scene = shared_scene(seed, number, "mark")
    drawn = draw(scene)
    box = box_of(drawn.mask, 4)
    [one] = scene.lesions
    marked = outlined_box(drawn.picture, box, named(scene))
    prompt = f"Mark the {named(scene)} with a box and write its name at the box."
    metadata = {
        "annotation_info": {
            "organ": half(scene, one.side),
            "lesion": named(scene),
            "location": where(scene, one),
        },
        "bbox": normalised(box, drawn.picture.shape),
    }
    pictures = {
        "previous": drawn.picture,
        "reference": marked,
        "roi": roi_of(box, drawn.picture.shape),
    }
    subtask = "Region-based Annotations"
    return Record(prompt, scene.modality, pictures, subtask=subtask, metadata=metadata)


def outlined_box(picture: Pixels, box: tuple[int, int, int, int], label: str) -> Pixels:
    """The picture with a box, and words above or below it."""
    marked = picture.copy()
    left, top, right, bottom = box
    cv2.rectangle(marked, (left, top), (right - 1, bottom - 1), HIGHLIGHT, 1, cv2.LINE_8)
    (wide, high), _ = cv2.getTextSize(label, cv2.FONT_HERSHEY_SIMPLEX, 0.38, 1)
    x = max(2, min((left + right - wide) // 2, marked.shape[1] - wide - 2))
    y = top - 4 if top - 4 - high > 2 else bottom + high + 4
    cv2.putText(marked, label, (x, y), cv2.FONT_HERSHEY_SIMPLEX, 0.38, HIGHLIGHT, 1, cv2.LINE_8)
    return marked


def style_transfer(seed: int, number: int) -> Record:
    scene, d = shared_scene(seed, number, "mark"), _details(seed, "style", number)
    picture = picture_of(scene)
    name = d.pick(sorted(COLOUR_MAPS))
    told = number % 2 == 0
    prompt = "Show this picture in false colours that go from dark to bright with its grey values"
    prompt += f"; use the colour table {name}." if told else "."
    pictures = {"previous": picture, "reference": coloured(picture, name)}
    metadata = {"target_style": name, "style_method": "colour table"}
    subtask = "Programmatic style" if told else "General style"
    return Record(prompt, scene.modality, pictures, subtask=subtask, metadata=metadata)


def coloured(picture: Pixels, name: str) -> Pixels:
    grey = cv2.cvtColor(picture, cv2.COLOR_RGB2GRAY)
    shown = cv2.applyColorMap(grey, COLOUR_MAPS[name])
    return np.ascontiguousarray(shown[..., ::-1])


EDITS: dict[str, Callable[[int, int], Record]] = {
    "anatomical-annotation": anatomical_annotation,
    "artifact-removal": artifact_removal,
    "contrast-enhancement": contrast_enhancement,
    "noise-reconstruction": noise_reconstruction,
    "resolution-editing": resolution_editing,
    "style-transfer": style_transfer,
}
