"""From a user's plan and table to a StressSet; all mistakes are reported before any work."""

from __future__ import annotations

import os
import unicodedata
from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import replace
from pathlib import Path
from typing import Any, TypeVar

from medebench.cases.case import id_problem
from medebench.errors import InputError, one_line
from medebench.files import sha256
from medebench.stresstest.image_usability import mask_problem, reference_problem, size_of
from medebench.stresstest.sources import NONE as _NONE
from medebench.stresstest.sources import Cells, MaskSource, Row, lacks_mask, read_table
from medebench.stresstest.stress_outcome import IntendedEdit, Sample, StressSet
from medebench.stresstest.stress_plan import Change, StressPlan

Item = TypeVar("Item")
Result = TypeVar("Result")
_NO_ORGAN = "the organ mask is empty (no pixel above 127); mark the organ, or remove the picture"
_FULL = "covers the whole picture; leave room for the edit"
_EMPTY = "is empty (no pixel above 127); mark where the picture may change"


def load_data(plan: StressPlan) -> StressSet:
    """What the plan describes, checked: files, labels, masks, texts."""
    data = plan.folder / Path(plan.model.data).expanduser()
    root = None if plan.model.root is None else plan.folder / Path(plan.model.root).expanduser()
    if root is not None and not root.is_dir():
        raise InputError(f"{plan.where}: root: {root}: no such folder")
    cells = Cells(plan, read_table(data, root))
    organ = cells.masks("mask", plan.model.columns.mask)
    if plan.task == "segmentation" and organ is None:
        raise InputError(
            f"{plan.where}: columns.mask: segmentation needs an organ mask for every picture;"
            " name a column or a folder"
        )
    named = _called(cells)
    rows = cells.table.rows
    samples = _all(zip(rows, named, strict=True), lambda one: _sample(plan, cells, *one, organ))
    _check_ids(cells, samples)
    _check_labels(plan, cells, samples)
    _all(zip(rows, samples, strict=True), lambda pair: _check_files(cells, *pair))
    intended = [one for change in _changes(plan) for one in _edits(plan, cells, samples, *change)]
    _check_edits(plan, intended)
    return StressSet(plan.task, tuple(samples), tuple(intended), plan.positive)


def _called(cells: Cells) -> list[str]:
    """Ids: those of the table, else the pictures' paths below the folder that holds all of them.

    So p1/front.png is p1-front, if there is a p2 as well.
    """
    paths = _all(cells.table.rows, lambda row: cells.path(cells.needed(row, "image")))
    common = Path(os.path.commonpath([path.parent for path in paths]))
    below = [path.relative_to(common).with_suffix("").parts for path in paths]
    rows = zip(cells.table.rows, below, strict=True)
    return [cells.get(row, "id") or "-".join(parts) for row, parts in rows]


def _sample(
    plan: StressPlan, cells: Cells, row: Row, picture_id: str, organ: MaskSource | None
) -> Sample:
    named = cells.needed(row, "image")
    path = cells.path(named)
    place = cells.place(row, picture_id)
    if problem := id_problem(picture_id):
        raise InputError(f"{place}: id: {picture_id[:60]!r} {problem}; add a column 'id'")
    if not path.is_file():
        raise InputError(f"{place}: {cells.column('image')}: {path}: no such file")
    classify = plan.task == "classification"
    label = cells.needed(row, "label") if classify else cells.get(row, "label")
    mask = None if classify or organ is None else organ.find(row, picture_id, named, place)
    caption, group = cells.get(row, "caption"), cells.get(row, "group")
    return Sample(picture_id, path, label, mask, caption, group, cells.bits(row, place))


def _check_ids(cells: Cells, samples: list[Sample]) -> None:
    seen: dict[str, int] = {}
    for row, sample in zip(cells.table.rows, samples, strict=True):
        folded = unicodedata.normalize("NFC", sample.id).casefold()
        if folded in seen:
            raise InputError(
                f"{cells.place(row, sample.id)}: id: row {seen[folded]} has the same id; make ids"
                " differ in more than upper and lower case"
            )
        seen[folded] = row.number


def _check_labels(plan: StressPlan, cells: Cells, samples: list[Sample]) -> None:
    labels = Counter(sample.label for sample in samples if sample.label)
    asked = [(f"edit{place}.which", one) for place, c in _named(plan) for one in c.which or ()]
    if plan.task == "classification":
        asked = [("positive", plan.positive), *asked]
        asked += [(f"edit{place}.label", c.label) for place, c in _named(plan) if c.label]
    there = ", ".join(f"{one!r} ({count})" for one, count in labels.most_common(12)) or "none"
    for field, label in asked:
        if label not in labels:
            raise InputError(
                f"{plan.where}: {field}: the label {label!r} does not occur in"
                f" {cells.table.source}; there are: {there}"
            )
    if plan.task == "classification" and len(labels) == 1:
        raise InputError(
            f"{cells.table.source}: every picture is {plan.positive!r}; the test set also needs"
            " pictures of another class"
        )


def _check_files(cells: Cells, row: Row, sample: Sample) -> None:
    place = cells.place(row, sample.id)
    try:
        size = size_of(sample.image)
    except InputError as error:
        raise InputError(f"{place}: {error}") from None
    if sample.mask is None:
        return
    if problem := mask_problem(sample.mask, size, empty=_NO_ORGAN, drawn=False):
        raise InputError(f"{place}: mask: {problem}")


def _named(plan: StressPlan) -> list[tuple[str, Change]]:
    """The parts of the plan that describe an edit, each with its place in the plan."""
    edit = plan.model.edit
    return [("", edit), *((f".kinds.{i}", one) for i, one in enumerate(edit.kinds))]


def _changes(plan: StressPlan) -> list[tuple[str, Change]]:
    """Each kind of edit with all its fields; without kinds, the plan's only edit."""
    edit = plan.model.edit
    fields = Change.model_fields
    said = edit.model_dump(include=set(fields), exclude_none=True)
    if not edit.kinds:
        return [("", Change.model_validate(said))]
    own = [one.model_dump(include=set(fields), exclude_none=True) for one in edit.kinds]
    merged = [Change.model_validate(_over(said, one)) for one in own]
    return list(zip([one.kind for one in edit.kinds], merged, strict=True))


def _over(said: dict[str, Any], own: dict[str, Any]) -> dict[str, Any]:
    """A kind's own fields override the common ones; `prompt` and `prompt_column` count as one."""
    prompts = {"prompt", "prompt_column"}
    taken = prompts if prompts & set(own) else set()
    return {**{key: value for key, value in said.items() if key not in taken}, **own}


def _edits(
    plan: StressPlan, cells: Cells, samples: list[Sample], kind: str, change: Change
) -> list[IntendedEdit]:
    which = change.which or ([plan.positive] if plan.task == "classification" else None)
    every = zip(cells.table.rows, samples, strict=True)
    pairs = [pair for pair in every if which is None or pair[1].label in which]
    limit = plan.model.edit.limit
    if limit is not None and len(pairs) > limit:
        # By a hash, so that every kind of edit draws the same pictures, in the table's order.
        order = sorted(pairs, key=lambda pair: sha256(f"{plan.seed} {pair[1].id}".encode()))
        chosen = {sample.id for _, sample in order[:limit]}
        pairs = [pair for pair in pairs if pair[1].id in chosen]
    after = _label_after(plan, samples, which, change)
    where_to = cells.masks("edit_mask", change.edit_mask or plan.model.columns.edit_mask)
    what_not = cells.masks("keep_mask", change.keep_mask or plan.model.columns.keep_mask)
    if where_to is None and lacks_mask(plan.editor):
        raise InputError(
            f"{plan.where}: edit.edit_mask: there is none{kind and f' for {kind}'}; name one, or"
            " set masks=none in edit.editor to let the prompt act everywhere"
        )
    texts = change.prompt_column
    if texts is not None and texts not in cells.table.columns:
        raise InputError(
            f"{plan.where}: edit.prompt_column: no column {texts!r} in {cells.table.source}; there"
            f" are: {cells.there}"
        )
    texts = texts or cells.column("prompt")
    truth = cells.masks("reference", change.reference or _NONE)

    def one(pair: tuple[Row, Sample]) -> IntendedEdit:
        row, sample = pair
        place = cells.place(row, sample.id)
        named = cells.needed(row, "image")
        prompt = row.cells.get(texts, "") if change.prompt is None else change.prompt.strip()
        if not prompt:
            raise InputError(f"{place}: no prompt; fill in the column {texts}, or set edit.prompt")
        caption = sample.caption or change.caption or ""
        if plan.encoder and not caption:
            raise InputError(
                f"{place}: no caption, which the edit score needs; fill in the column, or set"
                " edit.caption, or edit_score: none"
            )
        if _folded(prompt) == _folded(caption):
            raise InputError(f"{place}: prompt and caption are the same; nothing would change")
        found: dict[str, Path] = {}
        for role, source in (("edit", where_to), ("keep", what_not)):
            if source is None:
                continue
            found[role] = path = source.find(row, sample.id, named, place)
            empty, full = (_EMPTY, None) if role == "edit" else (None, _FULL)
            if problem := mask_problem(path, size_of(sample.image), empty=empty, full=full):
                raise InputError(f"{place}: {role}_mask: {problem}")
        told = replace(sample, caption=caption)
        should = None if truth is None else truth.find(row, sample.id, named, place)
        if should and (problem := reference_problem(should, size_of(sample.image))):
            raise InputError(f"{place}: reference: {problem}")
        return IntendedEdit(told, prompt, after, found.get("edit"), found.get("keep"), kind, should)

    return _all(pairs, one)


def _label_after(
    plan: StressPlan, samples: list[Sample], which: list[str] | None, change: Change
) -> str:
    if plan.task == "segmentation" or change.label is not None:
        return change.label or ""
    others = sorted({sample.label for sample in samples} - {plan.positive})
    if which == [plan.positive] and len(others) == 1:
        return others[0]
    raise InputError(
        f"{plan.where}: edit.label: is missing; give the true label of the edited pictures"
        f" ({', '.join(map(repr, [plan.positive, *others][:12]))})"
    )


def _check_edits(plan: StressPlan, intended: list[IntendedEdit]) -> None:
    if not intended:
        raise InputError(f"{plan.where}: edit.which: selects no picture; name another label")
    for one in intended:
        if problem := id_problem(one.id):
            raise InputError(f"{plan.where}: the edit {one.id[:60]!r} {problem}; shorten its kind")
    name, count = Counter(one.id.casefold() for one in intended).most_common(1)[0]
    if count > 1:
        raise InputError(
            f"{plan.where}: two edits would be called {name!r}; rename the kind or the picture"
        )


def _all(items: Iterable[Item], make: Callable[[Item], Result]) -> list[Result]:
    """`make` applied to each item; the first mistake is named, the others are counted."""
    made: list[Result] = []
    wrong: list[InputError] = []
    for item in items:
        try:
            made.append(make(item))
        except InputError as error:
            wrong.append(error)
    if wrong:
        more = f" (and {len(wrong) - 1} more)" if len(wrong) > 1 else ""
        raise InputError(one_line(str(wrong[0]), 1000) + more)
    return made


def _folded(text: str) -> str:
    return " ".join(text.casefold().split()).rstrip(".")
