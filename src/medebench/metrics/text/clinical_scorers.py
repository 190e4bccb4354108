"""Scorers of radiology reports from other packages: RadGraph, CheXbert, RaTEScore, GREEN.

Each needs its package and its weights, which medebench neither ships nor downloads by itself; where
one is missing the metric is not ready and says what to do. They are made for reports of some
modalities, and score no others.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable, Sequence
from contextlib import redirect_stdout
from dataclasses import dataclass
from functools import cached_property
from importlib import metadata
from io import StringIO
from pathlib import Path
from typing import Any

from medebench.device import choose_device, is_installed, no_device, release_memory
from medebench.encoders.towers import offline
from medebench.errors import MedebenchError, NotReadyError, one_line
from medebench.files import cache_folder
from medebench.metrics.metric import BatchMetric, Measured, MetricInfo, Of, Subject, Undefined
from medebench.metrics.text.reference_text import reference_pieces
from medebench.weights.local_weights import Found, kept_as, locate

#: Answers and references -> one number each; None where there is none.
Score = Callable[[list[str], list[str]], Sequence[float | None]]
_RRG = "StanfordAIMI/RRG_scorers"
#: Everything that is read as a report by radiologists.
_RADIOLOGY = ("X-ray", "CT", "MRI", "Ultrasound")


@dataclass(frozen=True)
class Scorer:
    """One of them: what it is, what it needs, and how it is loaded."""

    label: str
    summary: str
    definition: str
    #: As it is imported, and as pip knows it.
    package: str
    install: str
    #: Hub ids, each with a file that must lie in its folder.
    weights: tuple[tuple[str, str], ...]
    modalities: tuple[str, ...]
    #: Folders of the weights, in their order, and a device.
    load: Callable[[Sequence[Path], str], Score]


def _radgraph(folders: Sequence[Path], device: str) -> Score:
    package = importlib.import_module("radgraph")
    model = package.F1RadGraph(
        reward_level="partial",
        model_type="radgraph-xl",
        model_cache_dir=str(folders[0]),
        cuda=0 if device == "cuda" else -1,
    )
    return lambda answers, references: list(model(hyps=answers, refs=references)[1])


def _chexbert(folders: Sequence[Path], device: str) -> Score:
    module: Any = importlib.import_module("f1chexbert.f1chexbert")
    module.CACHE_DIR = str(folders[0])
    model = module.F1CheXbert(device=device)

    def score(answers: list[str], references: list[str]) -> list[float | None]:
        # The last label is "no finding".
        read = ([model.get_label(one)[:-1] for one in texts] for texts in (answers, references))
        return [_label_f1(said, due) for said, due in zip(*read, strict=True)]

    return score


def _label_f1(said: Sequence[int], due: Sequence[int]) -> float | None:
    both = sum(bool(a and b) for a, b in zip(said, due, strict=True))
    total = sum(map(bool, said)) + sum(map(bool, due))
    return 2 * both / total if total else None


def _ratescore(folders: Sequence[Path], device: str) -> Score:
    package = importlib.import_module("RaTEScore")
    model = package.RaTEScore(
        bert_model=str(folders[0]), eval_model=str(folders[1]), use_gpu=device == "cuda"
    )
    return lambda answers, references: list(model.compute_score(answers, references))


def _green(folders: Sequence[Path], device: str) -> Score:
    package = importlib.import_module("green_score")
    model = package.GREEN(str(folders[0]), output_dir=str(cache_folder() / "green"))
    return lambda answers, references: list(model(references, answers)[2])


SCORERS = {
    "radgraph_xl": Scorer(
        "RadGraph-XL F1",
        "agreement of the graphs of entities that RadGraph-XL reads in both reports",
        "F1 of entities with their type and whether they have a relation (reward level “partial”), "
        "by the package radgraph and the model RadGraph-XL.",
        "radgraph",
        "pip install 'radgraph>=0.1.18,<0.2'",
        ((_RRG, "radgraph-xl/config.json"),),
        _RADIOLOGY,
        _radgraph,
    ),
    "chexbert_f1": Scorer(
        "CheXbert F1",
        "agreement of the 13 findings of the chest that CheXbert labels in both reports",
        "F1 of the labels that CheXbert gives as present or uncertain; undefined where it gives "
        "neither text any.",
        "f1chexbert",
        "pip install f1chexbert",
        ((_RRG, "chexbert.pth"),),
        ("X-ray",),
        _chexbert,
    ),
    "ratescore": Scorer(
        "RaTEScore",
        "similarity of the medical entities in both reports (RaTEScore)",
        "RaTEScore of the package of its authors; it gives 0.5 where it finds no entity in one of "
        "the texts.",
        "RaTEScore",
        "pip install RaTEScore",
        (
            ("Angelakeke/RaTE-NER-Deberta", "config.json"),
            ("FremyCompany/BioLORD-2023-C", "config.json"),
        ),
        _RADIOLOGY,
        _ratescore,
    ),
    "green": Scorer(
        "GREEN",
        "matched findings against clinically significant errors, as a language model counts them",
        "GREEN of the package of its authors with GREEN-RadLlama2-7b, made for chest X-ray "
        "reports; undefined where the model’s answer cannot be read.",
        "green_score",
        "pip install git+https://github.com/Stanford-AIMI/GREEN",
        (("StanfordAIMI/GREEN-RadLlama2-7b", "config.json"),),
        ("X-ray",),
        _green,
    ),
}


def info(name: str, which: str | None = None) -> MetricInfo:
    """What the numbers mean; needs neither package nor weights."""
    one = SCORERS[name]
    scope = f"Made for reports of {', '.join(one.modalities)}; others are not scored."
    return MetricInfo(
        name,
        one.summary,
        "higher",
        0.0,
        1.0,
        ("answer",),
        label=one.label,
        decimals=3,
        definition=f"{one.definition} {scope}",
    )


def make(name: str, which: str | None, device: str, batch: int | None) -> BatchMetric:
    """`which` is a folder in place of the first of its weights."""
    return ClinicalScorer(name, which, device)


class ClinicalScorer(BatchMetric):
    of: Of = "text"

    def __init__(self, name: str, which: str | None = None, device: str = "auto") -> None:
        self.info = info(name)
        self._scorer, self._which, self._device = SCORERS[name], which, device
        self.variant = "absent"  # `problem` says why, and nothing is measured
        if self._lacking() is None:
            version = _version(self._scorer.package)
            weights = " ".join(one.identity for one in self._found if one)
            self.variant = f"{name}-1 {self._scorer.package} {version} {weights}"

    @cached_property
    def _found(self) -> list[Found | None]:
        first, *others = [one for one, _ in self._scorer.weights]
        return [locate(self._which or first), *map(locate, others)]

    def _lacking(self) -> str | None:
        if not is_installed(self._scorer.package):
            return f"needs the package {self._scorer.package}: {self._scorer.install}"
        for (hub, file), found in zip(self._scorer.weights, self._found, strict=True):
            if found is None or not (found.path / file).is_file():
                return (
                    f"needs {file} of {hub}; put it into a folder {kept_as(hub)}/ inside the one "
                    "that $MEDEBENCH_WEIGHTS names"
                )
        return None

    def problem(self) -> str | None:
        return self._lacking() or no_device(self._device)

    def prepare(self, subject: Subject) -> tuple[str, str]:
        case = subject.case.case
        if case.modality and case.modality not in self._scorer.modalities:
            raise Undefined(
                f"{self.info.label} is made for reports of {', '.join(self._scorer.modalities)}; "
                f"the case is {case.modality}"
            )
        due = case.answer.strip()
        reference_pieces(subject.case, due)
        return subject.said.strip(), due

    def measure(self, prepared: Sequence[tuple[str, str]]) -> list[Measured | Undefined]:
        # Nothing was said: a failure, and some of the packages stumble over it.
        asked = [one for one in prepared if one[0]]
        told = iter(self._score(asked))
        return [next(told) if said else Measured(0.0) for said, _ in prepared]

    def _score(self, pairs: Sequence[tuple[str, str]]) -> list[Measured | Undefined]:
        if not pairs:
            return []
        with offline(), redirect_stdout(StringIO()):
            values = self._model([said for said, _ in pairs], [due for _, due in pairs])
        none = Undefined(f"{self.info.label} gives no number for these texts")
        return [none if one is None else Measured(float(one)) for one in values]

    @cached_property
    def _model(self) -> Score:
        if problem := self.problem():
            raise NotReadyError(f"metric '{self.name}': {problem}")
        folders = [one.path for one in self._found if one]
        try:
            with offline(), redirect_stdout(StringIO()):
                return self._scorer.load(folders, choose_device(self._device))
        except MedebenchError:
            raise
        except Exception as error:
            why = f"{type(error).__name__}: {one_line(str(error), 200)}"
            raise NotReadyError(f"metric '{self.name}': does not load ({why})") from error

    def close(self) -> None:
        self.__dict__.pop("_model", None)
        release_memory()


def _version(package: str) -> str:
    try:
        return metadata.version(package)
    except metadata.PackageNotFoundError:
        return "of no release"
