"""A small set of all 16 tasks, systems that are good, weak or silent, and simple metrics."""

from __future__ import annotations

import re
from dataclasses import fields
from pathlib import Path

import numpy as np
from PIL import Image

import medebench as mb
from medebench.cases import Case, CaseSet
from medebench.metrics import Measured
from medebench.tasks.medgen import MEDGEN, MixedTask
from medebench.tasks.medgen_tasks import MEDGEN_TASKS

HERE = __file__
EACH = 4
SIDES = ("left", "right")
FINDINGS = ("effusion", "nodule", "fracture", "pneumothorax")
MODALITIES = ("CT", "MRI", "X-ray", "Ultrasound")
FORMATS = {"vqa": "VQA", "editing": "ImageEditing", "generation": "MultimodalGeneration"}


#: How the answers of a task are read, and what is then scored.
SCORED = {
    "letter": ("toy_choice_accuracy",),
    "gap": ("toy_gap_accuracy", "toy_token_f1"),
    "free": ("toy_key_accuracy", "toy_token_f1"),
    "report": ("toy_token_f1",),
    None: (),
}


class Mixed(MixedTask):
    """The 16 tasks with the metrics of this file."""

    def set_aside(self, case):
        about = MEDGEN_TASKS[case.task]
        images = ("ssim", "psnr") if about.format != "vqa" else ()
        return frozenset({"ssim", "psnr", *METRICS_HERE}) - {*SCORED[about.answer], *images}


METRICS_HERE = ("toy_choice_accuracy", "toy_gap_accuracy", "toy_key_accuracy", "toy_token_f1")
_GIVEN = {field.name: getattr(MEDGEN, field.name) for field in fields(MEDGEN)}
MIXED = Mixed(**_GIVEN | {"headline": (*METRICS_HERE[:3], "ssim"), "rubric": ""})


def draw(folder: Path, name: str, side: str, noise: int, seed: int) -> Path:
    """A disc on one side of a frame."""
    path = folder / f"{name}.png"
    if not path.exists():
        y, x = np.mgrid[0:48, 0:64]
        disc = (x - (18 if side == "left" else 46)) ** 2 + (y - 24) ** 2 < 90
        image = np.where(disc, 210, 60) + np.random.default_rng(seed).normal(0, noise, (48, 64))
        pixels = np.repeat(np.clip(image, 0, 255).astype(np.uint8)[..., None], 3, 2)
        Image.fromarray(pixels).save(path)
    return path


def cases(text, progress, folder=None):
    from medebench.files import cache_folder

    folder = cache_folder() / "mixed16"
    folder.mkdir(parents=True, exist_ok=True)
    made = []
    for place, (task, about) in enumerate(MEDGEN_TASKS.items()):
        for n in range(EACH):
            seed = place * EACH + n
            side, what = SIDES[(seed * 7) % 3 % 2], FINDINGS[(seed * 5) % len(FINDINGS)]
            name = f"{about.format}-{task}-{n:06d}"
            noisy = draw(folder, f"{name}-in", side, 25, seed)
            clean = draw(folder, f"{name}-out", side, 0, seed)
            told = {
                "prompt": f"What is seen, and on which side? ({task})",
                "answer": f"There is a {what} on the {side} side.",
                "key": side,
                "reference": None if about.format == "vqa" else clean,
            }
            if task == "multiple-choice":
                options = [f"{'ABCD'[i]}. {one}" for i, one in enumerate(FINDINGS)]
                told |= {"choices": tuple(options), "key": ""}
                told["answer"] = options[FINDINGS.index(what)]
            elif task == "blank-filling":
                told |= {"prompt": f"The {what} lies on the ____ side.", "answer": side, "key": ""}
            elif task == "report-generation":
                told |= {
                    "prompt": "Write a report.",
                    "key": "",
                    "answer": f"FINDINGS: There is a {what} on the {side} side. The heart is of "
                    f"normal size.\n\nIMPRESSION: {what.capitalize()} on the {side} side.",
                }
            elif about.format == "editing":
                told |= {"prompt": f"Do the work of {task}.", "answer": "", "key": ""}
            sample = f"tableiv:{FORMATS[about.format]}:{task}:{n:06d}"
            groups = {"format": about.format, "subtask": f"{task} {'one' if n % 2 else 'two'}"}
            modality = MODALITIES[seed % len(MODALITIES)]
            extra = {"sample_id": sample, "what": what, "side": side}
            made.append(
                Case(name, noisy, task=task, modality=modality, groups=groups, extra=extra, **told)
            )
    return CaseSet("mixed16", folder, tuple(made), text, task=f"{HERE}:MIXED")


def _said(case: Case, right: bool) -> str:
    """An answer as a model writes one."""
    side = case.extra["side"] if right else SIDES[case.extra["side"] == "left"]
    what = case.extra["what"] if right else FINDINGS[FINDINGS.index(case.extra["what"]) - 1]
    if case.choices:
        return f"The answer is {'ABCD'[FINDINGS.index(what)]}."
    if "____" in case.prompt:
        return f"{side.capitalize()}."
    if case.task == "report-generation":
        return f"FINDINGS: There is a {what} on the {side} side.\n\nIMPRESSION: {what} {side}."
    return f"A {what} is seen on the {side} side of the image."


class _Answering(mb.System):
    gives = ("image", "text")
    #: Of so many cases one is wrong, and one fails.
    _wrong, _fails = 5, 0

    def generate(self, request):
        case = request.case.case
        number = int(case.id[-6:]) + list(MEDGEN_TASKS).index(case.task)
        if self._fails and number % self._fails == 1:
            raise mb.Refused("I cannot help with that")
        text = _said(case, number % self._wrong != 0)
        if case.choices and self._fails and number % 2 == 0:
            text = "Either A or C could be right."
        if "image" not in request.gives:
            return text
        image = request.case.reference if number % self._wrong else request.case.previous
        return mb.Output(np.asarray(image), text if "text" in request.gives else None)


class Good(_Answering):
    pass


class Weak(_Answering):
    _wrong, _fails = 2, 4


class Worse(_Answering):
    _wrong = 1


class Frequent(mb.System):
    """The most frequent answer."""

    gives = ("text",)

    def generate(self, request):
        return "A" if request.case.case.choices else "left"


@mb.metric(
    "toy_choice_accuracy", "right option", label="choice accuracy", needs=("choices",), of="text"
)
def toy_choice_accuracy(case, text):
    found = set(re.findall(r"\b([A-D])\b", text))
    chance = {"chance": 1 / len(case.case.choices)}
    if len(found) != 1:
        return Measured(0.0, {"status": "several" if found else "not_read", **chance})
    [letter] = found
    right = case.case.answer.startswith(f"{letter}.")
    return Measured(float(right), {"status": "read", "letter": letter, **chance})


@mb.metric("toy_gap_accuracy", "right word in the gap", label="gap accuracy", of="text")
def toy_gap_accuracy(case, text):
    return Measured(float(text.strip(". ").lower() == case.case.answer), {"status": "read"})


@mb.metric("toy_key_accuracy", "right key", label="key accuracy", needs=("key",), of="text")
def toy_key_accuracy(case, text):
    if case.case.key not in SIDES:
        raise mb.Undefined("no side asked")
    told = [one for one in SIDES if one in text]
    return Measured(float(told == [case.case.key]), {"status": "stated" if told else "not_stated"})


@mb.metric("toy_token_f1", "words in common", label="token F1", needs=("answer",), of="text")
def toy_token_f1(case, text):
    one, other = (set(re.findall(r"\w+", t.lower())) for t in (text, case.case.answer))
    return 2 * len(one & other) / max(1, len(one) + len(other))


def make_runs(folder: Path) -> list[mb.Run]:
    made = [
        mb.generate(f"{HERE}:cases", f"{HERE}:Good", folder / "good"),
        mb.generate(f"{HERE}:cases", f"{HERE}:Weak", folder / "weak"),
        mb.generate(f"{HERE}:cases", "identity", folder / "identity"),
        mb.generate(f"{HERE}:cases", f"{HERE}:Frequent", folder / "most-frequent"),
    ]
    for run in made[3:]:
        info = run.info.model_copy(update={"control": True})
        (run.path / "run.json").write_text(info.model_dump_json())
    runs = [mb.open_run(run.path) for run in made]
    texts = [f"{HERE}:{one}" for one in METRICS_HERE]
    mb.score(runs, ",".join(["ssim", "psnr", *texts]))
    return runs
