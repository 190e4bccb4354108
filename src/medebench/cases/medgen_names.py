"""Names in MedGEN-Bench: formats, tasks and modalities, in whichever way a release spells them."""

from __future__ import annotations

import re
from typing import Literal

Format = Literal["vqa", "editing", "generation"]

#: As the releases spell them: folder and `paper_format`, `category`, Parquet config, and ours.
FORMATS: dict[str, Format] = {
    "vqa": "vqa",
    "imageediting": "editing",
    "imageedit": "editing",
    "editing": "editing",
    "edit": "editing",
    "multimodalgeneration": "generation",
    "mmgeneration": "generation",
    "generation": "generation",
    "generate": "generation",
    "gen": "generation",
}
#: As `paper_format` and the folders of the release spell them.
RELEASED: dict[Format, str] = {
    "vqa": "VQA",
    "editing": "ImageEditing",
    "generation": "MultimodalGeneration",
}
#: The 16 tasks, in the order of the release.
TASK_FORMATS: dict[str, Format] = {
    "multiple-choice": "vqa",
    "blank-filling": "vqa",
    "question-answering": "vqa",
    "report-generation": "vqa",
    "anatomical-annotation": "editing",
    "artifact-removal": "editing",
    "contrast-enhancement": "editing",
    "noise-reconstruction": "editing",
    "resolution-editing": "editing",
    "style-transfer": "editing",
    "2d-to-3d-reconstruction": "generation",
    "3d-to-2d-projection": "generation",
    "instruction-editing": "generation",
    "organic-reconstruction": "generation",
    "organic-removal": "generation",
    "disease-prediction": "generation",
}
#: Their targets are another view of the body than their inputs.
OTHER_VIEW = ("2d-to-3d-reconstruction", "3d-to-2d-projection")
#: Their targets are of another shape than their inputs, or sharper: compared as they are.
ON_REFERENCE = ("resolution-editing", *OTHER_VIEW)
#: Further names in releases; hyphens, underscores and blanks are the same.
_ALIASES = {
    "multi-choice": "multiple-choice",
    "question-answer": "question-answering",
    "resolution-edit": "resolution-editing",
    "instruction-edit": "instruction-editing",
    "dye-transfer": "style-transfer",
    "3d-2d-projection": "3d-to-2d-projection",
    "2d-3d-reconstruction": "2d-to-3d-reconstruction",
    "organ-removal": "organic-removal",
    "organ-reconstruction": "organic-reconstruction",
}
OTHER = "Other"
_MODALITIES = {
    "CT": r"\bct\b|\bcta\b|\bcbct\b|\bhrct\b|computed tomograph",
    "MRI": r"\bf?mri\b|\bmr\b|magnetic resonance",
    "Ultrasound": r"ultraso|sonogra|echocardio|\bus\b",
    "X-ray": r"\bx ?rays?\b|\bxray|radiograph|\bcxr\b|mammogra",
    "Pathology": r"patholog|histolog|cytolog|microscop|\bh&e\b|whole slide",
    "Clinical Photography": r"\bphoto\b|\bphotos\b|photograph",
}
#: Photographs and mixtures that belong to none of the six.
_NEITHER = re.compile(r"fundus|retina|endoscop|\bpet\b|\bspect\b")


def format_of(name: str) -> Format | None:
    """The format of this name, or None.

    >>> format_of("image_editing")
    'editing'
    """
    return FORMATS.get(re.sub(r"[\s_-]+", "", name.lower()))


def task_name(name: str) -> str | None:
    """The task's own name for any spelling of it, or None.

    >>> task_name("Dye_Transfer")
    'style-transfer'
    """
    plain = re.sub(r"[\s_]+", "-", name.strip().lower())
    plain = _ALIASES.get(plain, plain)
    return plain if plain in TASK_FORMATS else None


def modality_of(recorded: str) -> str:
    """One of the six modalities, or "Other" where it is none or more than one of them.

    >>> modality_of("Magnetic_Resonance_Imaging"), modality_of("Medical Imaging")
    ('MRI', 'Other')
    """
    plain = re.sub(r"[\s_-]+", " ", recorded.strip().lower())
    found = [name for name, words in _MODALITIES.items() if re.search(words, plain)]
    return found[0] if len(found) == 1 and not _NEITHER.search(plain) else OTHER
