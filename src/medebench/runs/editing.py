"""`edit`: an editor on every case of a set, resumable."""

from __future__ import annotations

import errno
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from PIL import Image

from medebench.cases import Case, CaseSet, load_cases, open_case
from medebench.cases.caseset import case_digest
from medebench.cases.image import Picture, encode_png
from medebench.editors import Chosen, Edit, Refused, Request, case_seed, find_editor
from medebench.errors import ImageError, InputError, MedebenchError, one_line
from medebench.files import sha256, write_bytes
from medebench.parallel import in_parallel
from medebench.progress import Progress, silent
from medebench.runs.ledger import CaseRow, OutputRow
from medebench.runs.provenance import now, versions
from medebench.runs.run import CasesInfo, Run, RunInfo, create_or_continue


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
    info = RunInfo(
        editor=chosen.name,
        settings=chosen.settings,
        origin=chosen.origin,
        control=chosen.control,
        sees=list(chosen.sees),
        seed=seed,
        outputs_per_case=outputs,
        cases=cases_info(found),
        created=now(),
        versions=versions(),
    )
    run = create_or_continue(out, info)

    def work(item: _Work) -> _Done:
        return _edit_case(run, chosen, found, seed, item)

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
        results = in_parallel(work, pending, workers)
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


def _edit_case(run: Run, chosen: Chosen, cases: CaseSet, seed: int, item: _Work) -> _Done:
    case, opened = item.case, open_case(item.case)
    rows = [_one_output(run, chosen, opened, seed, k) for k in item.wanted]
    try:
        source = opened.source
    except ImageError:
        source = f"unreadable-{case.id}"
    digest = cases.digests.get(case.id) or case_digest(case)
    return _Done(CaseRow(case.id, case.organ, case.task, digest, source), tuple(rows))


def _one_output(run: Run, chosen: Chosen, opened: Any, seed: int, k: int) -> OutputRow:
    case_id = opened.case.id
    own_seed = case_seed(seed, case_id, k)
    start = time.perf_counter()

    def row(sha: str | None, reason: str | None, detail: dict[str, Any]) -> OutputRow:
        seconds = time.perf_counter() - start
        return OutputRow(case_id, k, sha, reason, own_seed, detail, seconds)

    path = run.output_path(case_id, k)
    try:
        made = chosen.editor.edit(Request(opened, k, own_seed))
        result = made if isinstance(made, Edit) else Edit(made)
        data = encode_png(as_picture(result.picture))
    except (Refused, InputError) as error:
        return row(None, one_line(str(error)), {})
    except (Exception, SystemExit) as error:
        # A strange editor must not end the run: its failure is this case's reason.
        return row(None, one_line(f"{type(error).__name__}: {error}"), {})
    try:
        write_bytes(path, data)
    except OSError as error:
        full = error.errno in (errno.ENOSPC, errno.EDQUOT)
        reason = "the disk is full" if full else f"could not be written ({error.strerror})"
        return row(None, reason, {"disk_full": True} if full else {})
    return row(sha256(data), None, result.detail)


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
