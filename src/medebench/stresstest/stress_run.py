"""`stress`: carries out a plan, from the test set to the verdict, and can be resumed."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

from medebench.encoders.encoder_lookup import encoder_name
from medebench.errors import BusyError, InputError
from medebench.files import write_json
from medebench.images.picture import Picture, match, read_picture
from medebench.metrics import BatchMetric, find_metrics
from medebench.progress import Bar
from medebench.runs import Run, open_run
from medebench.runs import edit as run_editor
from medebench.runs import score as run_metrics
from medebench.runs.failed_calls import Failures
from medebench.runs.run_folder import INFO
from medebench.stresstest.edit_results import (
    check_cases,
    edits_of,
    fact_rows,
    facts_of,
    with_answers,
    write_cases,
)
from medebench.stresstest.page import PageContext, run_facts, write_page
from medebench.stresstest.predictions import FILE, Predictions, PredictionStore, predict_all
from medebench.stresstest.predictor_comparison import Answers, compare, paired_difference
from medebench.stresstest.predictor_outputs import PredictorOutputs, RunPictures, answers_of
from medebench.stresstest.predictors import Predictor
from medebench.stresstest.predictors.checked_answers import ask
from medebench.stresstest.recipe import Shift
from medebench.stresstest.stress_outcome import EditOutcome, IntendedEdit, StressOutcome, StressSet
from medebench.stresstest.stress_plan import StressPlan
from medebench.stresstest.stress_verdict import at_thresholds, verdicts
from medebench.stresstest.verdict_text import words
from medebench.systems import SystemInstance, find_system

CASES, RUN, REPORT, FACTS = "cases", "run", "report", "stress.json"


@dataclass(frozen=True)
class StressResult:
    """A completed stress test: what it found, and where its files are."""

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
) -> StressResult:
    """Check, edit, score, predict, analyze, write the page; finished work is not repeated.

    Anything wrong with plan, data, editor, encoder, predictors or an earlier test in the same
    folder is reported before any work starts, as far as it can be known. A predictor that fails
    later ends the command; finished work stays. `shift` comes from a recipe, whose published
    figures the page then shows; `command` reproduces the test.
    """
    stress = plan.load()
    with ExitStack() as stack:
        predictors = plan.find_predictors()
        for one in predictors:
            stack.callback(one.close)
        with _field(plan, "edit.editor"):
            chosen = find_system(plan.editor)
            chosen.require_ready()
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
    chosen: SystemInstance
    metric: BatchMetric | None
    bar: Bar
    workers: int | None
    retry_failed: bool

    def done(self, shift: Shift | None, command: str) -> StressResult:
        plan, stress = self.plan, self.stress
        with PredictionStore(plan.out / FILE) as store:
            # First, so that a predictor that fails does so before hours of editing.
            samples = [
                (one.id, partial(read_picture, one.image), one.bits) for one in stress.samples
            ]
            said = [
                PredictorOutputs(one, self._ask(one, samples, store, "the test set"))
                for one in self.predictors
            ]
            failures = Failures()
            run = self._edited(failures)
            edits = edits_of(run, stress.intended, self.metric, plan.threshold)
            made = [edit.intended for edit in edits if edit.output]
            outputs = [(one.id, partial(_edit, run, one), one.sample.bits) for one in made]
            for one in said:
                one.edits = self._ask(one.predictor, outputs, store, "the edits")
            answers = [
                answers_of(one, stress, made, reference=place > 0) for place, one in enumerate(said)
            ]
            outcome = analyze(
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
            making = PageContext(
                positive=stress.positive,
                cutoffs={one.name: one.threshold for one in self.predictors},
                shift=shift,
                facts=[("Edits", run_facts(run)), ("Test", fact_rows(facts))],
                command=command,
            )
            with self.bar("writing the page") as progress:
                pictures = RunPictures(run, said)
                index = write_page(outcome, pictures, plan.out / REPORT, making, progress=progress)
        return StressResult(plan, outcome, run, index, failures)

    def _ask(
        self, predictor: Predictor, shown: Sequence[Any], store: PredictionStore, what: str
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


@contextmanager
def _field(plan: StressPlan, name: str) -> Iterator[None]:
    """What is wrong inside is wrong with this field of the plan."""
    try:
        yield
    except InputError as error:
        raise type(error)(f"{plan.where}: {name}: {error}") from None


def _check_run(plan: StressPlan, chosen: SystemInstance) -> None:
    """Existing edits must come from this editor; checked before any predictor runs."""
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
    with _field(plan, "edit_score.encoder"):
        (metric,) = find_metrics([f"edit_score:{plan.encoder}"])
    assert isinstance(metric, BatchMetric)
    return metric


@contextmanager
def _locked(out: Path) -> Iterator[None]:
    from filelock import FileLock, Timeout

    if out.exists() and not out.is_dir():
        raise InputError(f"{out}: is a file; choose another out")
    if out.exists() and not _is_own(out):
        raise InputError(f"{out}: contains other files; choose another out")
    out.mkdir(parents=True, exist_ok=True)
    try:
        with FileLock(out / ".lock", timeout=0):
            yield
    except Timeout:
        busy = "another medebench process is working on this test; wait until it ends"
        raise BusyError(f"{out}: {busy}") from None


def _is_own(out: Path) -> bool:
    ours = any((out / name).is_file() for name in (FILE, FACTS))
    return ours or all(child.name == ".lock" for child in out.iterdir())


def _edit(run: Run, one: IntendedEdit) -> Picture:
    """An edit at the depth and size of its picture: predictors must see both alike."""
    made = read_picture(run.output_path(one.id, 0))
    return match(made, read_picture(one.sample.image), one.sample.bits)


def analyze(
    name: str,
    stress: StressSet,
    edits: Sequence[EditOutcome],
    answers: Sequence[Answers],
    *,
    threshold: float,
    encoder: str,
    seed: int = 0,
) -> StressOutcome:
    """Everything that follows from the edits, kept or not, and from the predictors' answers.

    `answers` should include discarded edits: without them, nothing can be said about lower
    thresholds. `encoder` is empty if edits are not scored.
    """
    outcome = StressOutcome(
        name,
        stress.task,
        stress.samples,
        tuple(edits),
        tuple(compare(stress, edits, one, seed=seed) for one in answers),
        threshold,
        encoder,
        tuple(at_thresholds(stress, edits, answers, threshold, seed=seed)) if encoder else (),
    )
    differences = {
        (one.name, other.name): paired_difference(stress, edits, one, other)
        for one in answers
        for other in answers
        if other.reference and not one.reference
    }
    return replace(
        outcome,
        verdict={name: found.word for name, found in verdicts(outcome).items()},
        words=words(outcome, differences),
    )
