"""`edit`: an editor on every case of a set, resumable."""

from __future__ import annotations

import errno
import time
from collections.abc import Generator, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from PIL import Image

from medebench.cases import Case, CaseSet, OpenCase, load_cases, open_case
from medebench.cases.caseset import case_digest
from medebench.cases.image import Picture, encode_png
from medebench.editors import (
    BatchEditor,
    Chosen,
    Edit,
    Refused,
    Request,
    case_seed,
    find_editor,
)
from medebench.errors import ImageError, InputError, MedebenchError, one_line
from medebench.files import sha256, write_bytes
from medebench.grounding.maps import write_map
from medebench.parallel import in_parallel
from medebench.progress import Progress, silent
from medebench.runs.ledger import CaseRow, OutputRow
from medebench.runs.provenance import now, versions
from medebench.runs.run import INFO, CasesInfo, Run, RunInfo, create_or_continue, require_free


@dataclass(frozen=True)
class _Work:
    case: Case
    wanted: tuple[int, ...]


@dataclass(frozen=True)
class _Done:
    case: CaseRow
    outputs: tuple[OutputRow, ...]


class DiskFullError(MedebenchError):
    pass


def edit(
    cases: str | Path | CaseSet,
    editor: str | Chosen,
    out: str | Path,
    *,
    settings: dict[str, Any] | None = None,
    seed: int = 0,
    outputs: int = 1,
    workers: int | None = None,
    retry_failed: bool = False,
    progress: Progress = silent,
) -> Run:
    """Run `editor` on `cases` into the folder `out`; what is there already is not done again.

    `outputs` is how many pictures to make per case, each with a seed of its own.
    """
    chosen = find_editor(editor, settings) if isinstance(editor, str) else editor
    found = load_cases(cases)
    if outputs < 1:
        raise InputError("outputs: at least one per case")
    chosen.require_ready()
    info = RunInfo(
        editor=chosen.name,
        settings=chosen.settings,
        how=chosen.how,
        origin=", ".join(filter(None, (chosen.origin, chosen.identity()))),
        control=chosen.control,
        sees=list(chosen.sees),
        seed=seed,
        outputs_per_case=outputs,
        cases=cases_info(found),
        created=now(),
        versions=versions(),
    )
    if not (Path(out).expanduser() / INFO).exists():
        require_free(Path(out).expanduser())
        # An editor that does not load leaves no run behind.
        chosen.prepare()
    run = create_or_continue(out, info)

    maker = _Maker(run, chosen, found, seed)
    with run.locked() as ledger:
        known = ledger.outputs()

        def todo() -> Iterator[_Work]:
            for case in found:
                wanted = tuple(
                    k
                    for k in range(outputs)
                    if _is_open(known.get((case.id, k)), run.output_path(case.id, k), retry_failed)
                )
                if wanted:
                    yield _Work(case, wanted)

        pending = list(todo())
        finished = len(found) - len(pending)
        progress(finished, len(found))
        if pending:
            chosen.prepare()
        results = maker.make(pending, workers)
        try:
            for done in results:
                ledger.write(done.case, *done.outputs)
                finished += 1
                progress(finished, len(found))
                if any(row.detail.get("disk_full") for row in done.outputs):
                    raise DiskFullError(
                        f"{run.path}: the disk is full; free some space, "
                        "then run again with --retry-failed"
                    )
        finally:
            results.close()
    return run


def cases_info(cases: CaseSet, of: int | None = None) -> CasesInfo:
    return CasesInfo(
        name=cases.name,
        source=cases.source,
        fingerprint=cases.fingerprint,
        count=len(cases),
        of=len(cases) if of is None else of,
    )


def _is_open(row: OutputRow | None, path: Path, retry_failed: bool) -> bool:
    if row is None:
        return True
    return retry_failed if row.reason is not None else not path.is_file()


class _Maker:
    """Turns work into rows: on all cores, or in batches for an editor that owns a device."""

    def __init__(self, run: Run, chosen: Chosen, cases: CaseSet, seed: int) -> None:
        self._run, self._chosen, self._cases, self._seed = run, chosen, cases, seed

    def make(self, pending: list[_Work], workers: int | None) -> Generator[_Done, None, None]:
        if isinstance(self._chosen.editor, BatchEditor):
            return self._in_batches(pending, self._chosen.editor)
        return in_parallel(self._alone, pending, workers)

    def _alone(self, item: _Work) -> _Done:
        opened = open_case(item.case)
        rows = [self._one(self._request(opened, k)) for k in item.wanted]
        return self._done(opened, rows)

    def _in_batches(
        self, pending: list[_Work], editor: BatchEditor
    ) -> Generator[_Done, None, None]:
        """Whole cases, as many as fill a batch."""
        size = max(1, editor.batch)
        group: list[_Work] = []
        for item in pending:
            group.append(item)
            if sum(len(one.wanted) for one in group) >= size:
                yield from self._batch(group, editor)
                group = []
        yield from self._batch(group, editor)

    def _batch(self, group: list[_Work], editor: BatchEditor) -> Iterator[_Done]:
        cases = [open_case(item.case) for item in group]
        requests = [
            self._request(opened, k)
            for opened, item in zip(cases, group, strict=True)
            for k in item.wanted
        ]
        rows = iter(self._together(requests, editor))
        for opened, item in zip(cases, group, strict=True):
            yield self._done(opened, [next(rows) for _ in item.wanted])

    def _together(self, requests: list[Request], editor: BatchEditor) -> list[OutputRow]:
        start = time.perf_counter()
        made: list[Edit | BaseException]
        try:
            made = list(editor.edit_batch(requests)) if requests else []
        except (Exception, SystemExit) as error:
            if len(requests) > 1:
                # One bad case must not take the others of its batch along.
                return [row for one in requests for row in self._together([one], editor)]
            made = [error]
        seconds = (time.perf_counter() - start) / max(1, len(requests))
        return [
            self._row(request, one, seconds) for request, one in zip(requests, made, strict=True)
        ]

    def _one(self, request: Request) -> OutputRow:
        start = time.perf_counter()
        made: Any
        try:
            made = self._chosen.editor.edit(request)
        except (Exception, SystemExit) as error:
            made = error
        return self._row(request, made, time.perf_counter() - start)

    def _row(self, request: Request, made: Any, seconds: float) -> OutputRow:
        """Store a picture, or the reason why there is none: a strange editor must not end a run."""
        case_id, k = request.case.case.id, request.k

        def row(sha: str | None, reason: str | None, detail: dict[str, Any]) -> OutputRow:
            return OutputRow(case_id, k, sha, reason, request.seed, detail, seconds)

        try:
            if isinstance(made, BaseException):
                raise made
            result = made if isinstance(made, Edit) else Edit(made)
            data = encode_png(as_picture(result.picture))
            looked = None if result.attention is None else as_map(result.attention)
        except (Refused, InputError) as error:
            return row(None, one_line(str(error)), {})
        except (Exception, SystemExit) as error:
            return row(None, one_line(f"{type(error).__name__}: {error}"), {})
        try:
            if looked is not None:
                path = self._run.attention_path(case_id, k)
                path.parent.mkdir(exist_ok=True)
                write_map(path, looked)
            write_bytes(self._run.output_path(case_id, k), data)
        except OSError as error:
            full = error.errno in (errno.ENOSPC, errno.EDQUOT)
            reason = "the disk is full" if full else f"could not be written ({error.strerror})"
            return row(None, reason, {"disk_full": True} if full else {})
        # Tells `ground` that the map beside the picture is this picture's.
        told: dict[str, Any] = {"attention": {}} if looked is not None else {}
        return row(sha256(data), None, told | result.detail)

    def _request(self, opened: OpenCase, k: int) -> Request:
        return Request(opened, k, case_seed(self._seed, opened.case.id, k))

    def _done(self, opened: OpenCase, rows: list[OutputRow]) -> _Done:
        case = opened.case
        try:
            source = opened.source
        except ImageError:
            source = f"unreadable-{case.id}"
        digest = self._cases.digests.get(case.id) or case_digest(case)
        return _Done(CaseRow(case.id, case.organ, case.task, digest, source), tuple(rows))


def as_picture(made: Any) -> Picture:
    """An editor's result as (height, width, 3) 8 or 16 bits, or a refusal that says what it was."""
    if isinstance(made, Image.Image):
        made = np.asarray(made.convert("RGB"))
    if not isinstance(made, np.ndarray) or made.dtype not in (np.uint8, np.uint16):
        kind = f"{made.dtype} array" if isinstance(made, np.ndarray) else type(made).__name__
        raise Refused(f"the editor returned a {kind}; uint8, uint16 or a PIL image is needed")
    pixels: NDArray[Any] = made
    if pixels.ndim == 2 or (pixels.ndim == 3 and pixels.shape[2] == 1):
        pixels = np.repeat(pixels.reshape(*pixels.shape[:2], 1), 3, axis=2)
    if pixels.ndim != 3 or pixels.shape[2] not in (3, 4) or not pixels.size:
        raise Refused(f"the editor returned an array of shape {made.shape}; (h, w, 3) is needed")
    return np.ascontiguousarray(pixels[..., :3])


def as_map(made: Any) -> NDArray[np.float32]:
    """An editor's attention as one number in 0..1 per place, or a refusal that says what it was."""
    values = np.asarray(made)
    if values.ndim != 2 or not values.size or not np.issubdtype(values.dtype, np.number):
        raise Refused(f"the editor's attention has shape {values.shape}; (h, w) is needed")
    heat = values.astype(np.float32)
    if not np.isfinite(heat).all() or heat.min() < 0 or heat.max() > 1:
        raise Refused("the editor's attention holds values outside 0 to 1")
    return heat
