"""`stress`: everything a plan says, resumable, from the test set to the verdict."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from medebench.cases.image import Picture, match, read_picture
from medebench.cases.phantoms.chest.shifts import Shift
from medebench.editors import Chosen, find_editor
from medebench.encoders.find import encoder_name
from medebench.errors import BusyError, InputError
from medebench.files import write_json
from medebench.metrics import BatchMetric, find_metrics
from medebench.progress import Progress
from medebench.runs import Run, open_run
from medebench.runs import edit as run_editor
from medebench.runs import score as run_metrics
from medebench.runs.failed_calls import Failures
from medebench.runs.run import INFO
from medebench.stress.answering import Said, answers_of
from medebench.stress.casing import check_cases, write_cases
from medebench.stress.concluding import conclude
from medebench.stress.outcome import StressOutcome
from medebench.stress.page import Making, run_facts, write_page
from medebench.stress.plan import StressPlan
from medebench.stress.predictions import (
    FILE,
    Predictions,
    PredictionStore,
    Shown,
    predict_all,
)
from medebench.stress.predictors import Predictor
from medebench.stress.predictors.checking import ask
from medebench.stress.resulting import edits_of, facts_of, told, with_answers
from medebench.stress.sample import Intended, StressSet
from medebench.stress.showing import RunPictures

#: Opens a progress bar with a title.
Bar = Callable[[str], AbstractContextManager[Progress]]

CASES, RUN, REPORT, FACTS = "cases", "run", "report", "stress.json"


@dataclass(frozen=True)
class Stressed:
    """A stress test that was carried out: what it found, and where it lies."""

    plan: StressPlan
    outcome: StressOutcome
    run: Run
    #: The page.
    index: Path
    #: Edits and scores that failed now, not in an earlier command.
    failures: Failures


def run_stress(
    plan: StressPlan,
    *,
    bar: Bar,
    workers: int | None = None,
    retry_failed: bool = False,
    shift: Shift | None = None,
    command: str = "",
) -> Stressed:
    """Check, edit, score, predict, conclude, write the page; what is done is not done again.

    What can be known to be wrong with plan, data, editor, encoder, predictors and an earlier test
    in the same folder is said before anything is done. A predictor that fails later ends the
    command; what there is stays. `shift` says which of the published ones it is, whose figures its
    page then shows, `command` what makes it again.
    """
    stress = plan.load()
    with ExitStack() as stack:
        predictors = plan.find_predictors()
        for one in predictors:
            stack.callback(one.close)
        chosen = _editor(plan)
        metric = _edit_score(plan)
        for one in predictors:
            # One picture shows most of what a predictor can get wrong.
            first = stress.samples[0]
            ask(one, [first.id], [read_picture(first.image)], [first.bits])
        stack.enter_context(_locked(plan.out))
        check_cases(stress.intended, plan.out / CASES)
        _check_run(plan, chosen)
        work = _Work(plan, stress, predictors, chosen, metric, bar, workers, retry_failed)
        return work.done(shift, command or f"medebench stress {Path(plan.where).name}")


@dataclass(frozen=True)
class _Work:
    """A stress test whose parts are all ready."""

    plan: StressPlan
    stress: StressSet
    predictors: Sequence[Predictor]
    chosen: Chosen
    metric: BatchMetric | None
    bar: Bar
    workers: int | None
    retry_failed: bool

    def done(self, shift: Shift | None, command: str) -> Stressed:
        plan, stress = self.plan, self.stress
        with PredictionStore(plan.out / FILE) as store:
            samples = [Shown(one.id, _reader(one.image), one.bits) for one in stress.samples]
            # First, so that a predictor that fails does so before hours of editing.
            said = [
                Said(one, self._ask(one, samples, store, "the test set")) for one in self.predictors
            ]
            failures = Failures()
            run = self._edited(failures)
            edits = edits_of(run, stress.intended, self.metric, plan.threshold)
            made = [edit.intended for edit in edits if edit.output]
            outputs = [Shown(one.id, _edit_reader(run, one), one.sample.bits) for one in made]
            for one in said:
                one.edits = self._ask(one.predictor, outputs, store, "the edits")
            answers = [
                answers_of(one, stress, made, reference=place > 0) for place, one in enumerate(said)
            ]
            outcome = conclude(
                plan.name,
                stress,
                [with_answers(edit, answers) for edit in edits],
                answers,
                threshold=plan.threshold,
                encoder=plan.encoder and encoder_name(plan.encoder),
                seed=plan.seed,
            )
            facts = facts_of(plan, run, self.predictors, self.metric)
            write_json(plan.out / FACTS, facts)
            making = Making(
                positive=stress.positive,
                cutoffs={one.name: one.threshold for one in self.predictors},
                shift=shift,
                facts=[("Edits", run_facts(run)), ("Test", told(facts))],
                command=command,
            )
            with self.bar("writing the page") as progress:
                pictures = RunPictures(run, said)
                index = write_page(outcome, pictures, plan.out / REPORT, making, progress=progress)
        return Stressed(plan, outcome, run, index, failures)

    def _ask(
        self, predictor: Predictor, shown: list[Shown], store: PredictionStore, what: str
    ) -> Predictions:
        with self.bar(f"{predictor.name} on {what}") as progress:
            return predict_all(predictor, shown, store, progress, len(shown))

    def _edited(self, failures: Failures) -> Run:
        plan = self.plan
        cases = write_cases(self.stress.intended, plan.out / CASES)
        how: dict[str, Any] = {"workers": self.workers, "retry_failed": self.retry_failed}
        how["failures"] = failures
        with self.bar(f"editing with {self.chosen.name}") as progress:
            out = plan.out / RUN
            run = run_editor(cases, self.chosen, out, seed=plan.seed, progress=progress, **how)
        if self.metric is not None:
            with self.bar("scoring edits") as progress:
                run_metrics(run, [self.metric], progress=progress, **how)
        return run


def _editor(plan: StressPlan) -> Chosen:
    try:
        chosen = find_editor(plan.editor)
        chosen.require_ready()
    except InputError as error:
        raise type(error)(f"{plan.where}: edit.editor: {error}") from None
    return chosen


def _check_run(plan: StressPlan, chosen: Chosen) -> None:
    """Edits that are there must be those of this editor; said before predictors are asked."""
    if not (plan.out / RUN / INFO).is_file():
        return
    info = open_run(plan.out / RUN).info
    wanted = {"editor": chosen.name, "settings": chosen.settings, "seed": plan.seed}
    for name, value in wanted.items():
        if (there := getattr(info, name)) != value:
            raise InputError(
                f"{plan.out}: its edits were made with another {name} ({there}); choose another out"
            )


def _edit_score(plan: StressPlan) -> BatchMetric | None:
    if not plan.encoder:
        return None
    try:
        (metric,) = find_metrics([f"edit_score:{plan.encoder}"])
    except InputError as error:
        raise type(error)(f"{plan.where}: edit_score.encoder: {error}") from None
    assert isinstance(metric, BatchMetric)
    return metric


@contextmanager
def _locked(out: Path) -> Iterator[None]:
    from filelock import FileLock, Timeout

    if out.exists() and not out.is_dir():
        raise InputError(f"{out}: is a file; choose another out")
    if out.exists() and not _is_own(out):
        raise InputError(f"{out}: holds other files; choose another out")
    out.mkdir(parents=True, exist_ok=True)
    try:
        with FileLock(out / ".lock", timeout=0):
            yield
    except Timeout:
        raise BusyError(f"{out}: another medebench is at work on this test; wait for it") from None


def _is_own(out: Path) -> bool:
    ours = any((out / name).is_file() for name in (FILE, FACTS))
    return ours or all(child.name == ".lock" for child in out.iterdir())


def _reader(path: Path) -> Callable[[], Picture]:
    return lambda: read_picture(path)


def _edit_reader(run: Run, one: Intended) -> Callable[[], Picture]:
    """An edit in the depth and size of its picture: a predictor must see both in the same way."""

    def read() -> Picture:
        made = read_picture(run.output_path(one.id, 0))
        return match(made, read_picture(one.sample.image), one.sample.bits)

    return read
