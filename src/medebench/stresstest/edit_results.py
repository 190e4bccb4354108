"""The edits as a set of cases in a folder of their own, and the result of each.

Pictures are copied: what was edited stays beside its edit, whatever becomes of the user's files."""

from __future__ import annotations

import filecmp
import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from medebench.cases import CaseSet, load_cases
from medebench.errors import InputError
from medebench.files import read_bytes, whole_folder
from medebench.metrics import BatchMetric
from medebench.runs import Run
from medebench.runs.provenance import now, versions
from medebench.stresstest.predictor_outputs import Answers
from medebench.stresstest.predictors import Predictor
from medebench.stresstest.stress_outcome import EditOutcome, IntendedEdit
from medebench.stresstest.stress_plan import StressPlan

TABLE = "cases.jsonl"


def edits_of(
    run: Run, intended: Sequence[IntendedEdit], metric: BatchMetric | None, threshold: float
) -> list[EditOutcome]:
    """The result of each edit: kept, discarded or missing, and why."""
    with run.ledger() as ledger:
        outputs = ledger.outputs()
        rows = ledger.scores() if metric is not None else ()
        scores = {row.case_id: row for row in rows if metric and row.metric == metric.name}

    def result(one: IntendedEdit) -> EditOutcome:
        row, score = outputs.get((one.id, 0)), scores.get(one.id)
        if row is None or row.sha256 is None:
            return EditOutcome(one, None, False, (row and row.reason) or "not made yet")
        name = run.output_path(one.id, 0).name
        if metric is None:
            return EditOutcome(one, None, True, "", name)
        if score is None or score.value is None:
            why = (score and score.reason) or "not scored yet"
            return EditOutcome(one, None, False, why, name)
        kept = score.value >= threshold
        reason = "" if kept else f"edit score {score.value:.2f} is below {threshold:g}"
        return EditOutcome(one, score.value, kept, reason, name)

    return [result(one) for one in intended]


def with_answers(edit: EditOutcome, answers: Sequence[Answers]) -> EditOutcome:
    one = edit.intended
    return replace(
        edit,
        before={a.name: a.originals.get(one.sample.id) for a in answers},
        after={a.name: a.edits.get(one.id) for a in answers},
    )


def facts_of(
    plan: StressPlan, run: Run, predictors: Sequence[Predictor], metric: BatchMetric | None
) -> dict[str, Any]:
    """The facts needed to repeat the test."""
    return {
        "name": plan.name,
        "plan": plan.model.model_dump(mode="json"),
        "seed": plan.seed,
        "editor": run.info.editor,
        "editor_settings": run.info.settings,
        "edit_score": metric.name if metric else None,
        "edit_score_variant": metric.variant if metric else None,
        "threshold": plan.threshold,
        "predictors": {one.name: one.identity for one in predictors},
        "cases": run.info.cases.fingerprint,
        "versions": versions(),
        "written": now(),
    }


def fact_rows(facts: Mapping[str, Any]) -> list[tuple[str, str]]:
    """The facts a reader of the page needs, as text."""
    wanted = ("edit_score", "edit_score_variant", "threshold", "seed")
    given = {name.replace("_", " "): facts[name] for name in wanted if facts[name] is not None}
    predictors = {f"predictor {name}": _brief(one) for name, one in facts["predictors"].items()}
    return [(name, str(value)) for name, value in (given | predictors).items()]


def _brief(identity: str) -> str:
    """For people: hashes as far as anybody reads them, no folders of this machine.

    >>> _brief('python mine.py 85c59e952881027a Mine {} ')
    'python mine.py 85c59e952881 Mine'
    >>> _brief('command 1 [["/home/my folder/python", "envs/predict.py"], {}]')
    'command 1 [["python", "envs/predict.py"], {}]'
    """
    short = re.sub(r"\b([0-9a-f]{12})[0-9a-f]+\b", r"\1", identity)
    named = re.sub(r'"(?:[A-Za-z]:)?[\\/][^"]*[\\/]([^"\\/]+)"', r'"\1"', short)
    return re.sub(r" \{\}(?=\s|$)", "", named).strip()


def check_cases(intended: Sequence[IntendedEdit], folder: Path) -> None:
    """An existing folder must contain the same edits of the same files."""
    if not folder.exists():
        return
    table = folder / TABLE
    if not table.is_file() or table.read_text("utf-8") != _lines(intended):
        raise InputError(f"{folder}: contains edits that differ from the plan; choose another out")
    for one in intended:
        for role, path in _files(one).items():
            if not filecmp.cmp(path, folder / _place(one, role, path), shallow=False):
                raise InputError(
                    f"{path}: changed since it was edited in {folder.parent}; choose another out"
                )


def write_cases(intended: Sequence[IntendedEdit], folder: Path) -> CaseSet:
    """Written once; `check_cases` compares an existing folder."""
    if not folder.exists():
        with whole_folder(folder) as staging:
            for one in intended:
                for role, path in _files(one).items():
                    target = staging / _place(one, role, path)
                    target.parent.mkdir(exist_ok=True)
                    target.write_bytes(read_bytes(path))
            (staging / TABLE).write_text(_lines(intended), "utf-8")
    return load_cases(folder / TABLE)


def _lines(intended: Sequence[IntendedEdit]) -> str:
    return "".join(json.dumps(_record(one), ensure_ascii=False) + "\n" for one in intended)


def _place(one: IntendedEdit, role: str, path: Path) -> str:
    return f"{role}/{one.id}{path.suffix.lower()}"


def _record(one: IntendedEdit) -> dict[str, str | int]:
    told = {
        "caption": one.sample.caption or None,
        "task": one.kind or None,
        "bits": one.sample.bits,
    }
    record: dict[str, str | int] = {"id": one.id, "prompt": one.prompt}
    record |= {name: value for name, value in told.items() if value is not None}
    return record | {role: _place(one, role, path) for role, path in _files(one).items()}


def _files(one: IntendedEdit) -> dict[str, Path]:
    roles = {"previous": one.sample.image, "reference": one.reference}
    roles |= {"roi": one.edit, "keep": one.keep}
    return {role: path for role, path in roles.items() if path is not None}
