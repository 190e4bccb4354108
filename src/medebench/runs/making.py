"""Turning cases into outputs: on all cores, or in batches for an editor that owns a device."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Generator, Iterator
from dataclasses import dataclass
from typing import Any

from medebench.cases import Case, CaseSet, OpenCase, open_case
from medebench.cases.caseset import hash_case
from medebench.cases.image import encode_png
from medebench.editors import BatchEditor, Chosen, Edit, NotTried, Refused, Request, case_seed
from medebench.editors.returned import as_map, as_picture
from medebench.errors import ImageError, InputError, one_line
from medebench.files import disk_trouble, sha256, write_bytes
from medebench.grounding.maps import write_map
from medebench.parallel import in_parallel
from medebench.runs.demonstrations import Demonstrations
from medebench.runs.ledger import CaseRow, OutputRow
from medebench.runs.run import Run


@dataclass(frozen=True)
class Work:
    case: Case
    wanted: tuple[int, ...]


@dataclass(frozen=True)
class Done:
    case: CaseRow
    outputs: tuple[OutputRow, ...]


class Maker:
    """Makes the outputs of one editor. `detail` stands beside each of them in the ledger."""

    def __init__(
        self,
        run: Run,
        chosen: Chosen,
        cases: CaseSet,
        demonstrations: Demonstrations | None = None,
        detail: dict[str, Any] | None = None,
    ) -> None:
        self._run, self._chosen, self._cases = run, chosen, cases
        self._demonstrations = demonstrations
        self._detail = detail or {}
        #: Why outputs were not tried at all, and how many.
        self.not_tried: Counter[str] = Counter()

    def make(self, pending: list[Work], workers: int | None) -> Generator[Done, None, None]:
        editor = self._chosen.editor
        if self._demonstrations is not None and pending:
            self._demonstrations.prepare()
        if isinstance(editor, BatchEditor):
            return self._in_batches(pending, editor)
        return in_parallel(self._alone, pending, getattr(editor, "at_once", None) or workers)

    def requests(self, pending: list[Work]) -> Iterator[Request]:
        """What the editor will be asked, for an estimate."""
        for item in pending:
            opened = open_case(item.case)
            for k in item.wanted:
                try:
                    yield self._request(opened, k)
                except (Refused, InputError):
                    continue

    def _alone(self, item: Work) -> Done:
        opened = open_case(item.case)
        return self._done(opened, [self._one(opened, k) for k in item.wanted])

    def _one(self, opened: OpenCase, k: int) -> OutputRow | None:
        start = time.perf_counter()
        made: Any
        try:
            made = self._chosen.editor.edit(self._request(opened, k))
        except (Exception, SystemExit) as error:
            made = error
        return self._row(opened, k, made, time.perf_counter() - start)

    def _in_batches(self, pending: list[Work], editor: BatchEditor) -> Generator[Done, None, None]:
        """Whole cases, as many as fill a batch."""
        size = max(1, editor.batch)
        group: list[Work] = []
        for item in pending:
            group.append(item)
            if sum(len(one.wanted) for one in group) >= size:
                yield from self._batch(group, editor)
                group = []
        yield from self._batch(group, editor)

    def _batch(self, group: list[Work], editor: BatchEditor) -> Iterator[Done]:
        opened = [open_case(item.case) for item in group]
        rows: dict[tuple[str, int], OutputRow | None] = {}
        requests: list[Request] = []
        for case, item in zip(opened, group, strict=True):
            for k in item.wanted:
                try:
                    requests.append(self._request(case, k))
                except (Refused, InputError) as error:
                    rows[case.case.id, k] = self._row(case, k, error, 0.0)
        rows |= self._together(requests, editor)
        for case, item in zip(opened, group, strict=True):
            yield self._done(case, [rows[case.case.id, k] for k in item.wanted])

    def _together(
        self, requests: list[Request], editor: BatchEditor
    ) -> dict[tuple[str, int], OutputRow | None]:
        start = time.perf_counter()
        made: list[Edit | BaseException]
        try:
            made = list(editor.edit_batch(requests)) if requests else []
        except (Exception, SystemExit) as error:
            if len(requests) > 1:
                # One bad case must not take the others of its batch along.
                alone = [self._together([one], editor) for one in requests]
                return {key: row for one in alone for key, row in one.items()}
            made = [error]
        seconds = (time.perf_counter() - start) / max(1, len(requests))
        return {
            (one.case.case.id, one.k): self._row(one.case, one.k, result, seconds)
            for one, result in zip(requests, made, strict=True)
        }

    def _row(self, opened: OpenCase, k: int, made: Any, seconds: float) -> OutputRow | None:
        """Store a picture, or the reason why there is none: a strange editor must not end a run."""
        if isinstance(made, NotTried):
            self.not_tried[one_line(str(made))] += 1
            return None
        case_id, seed = opened.case.id, self._seed(opened.case, k)
        self._drop_attempts(case_id, k)

        def row(sha: str | None, reason: str | None, detail: dict[str, Any]) -> OutputRow:
            return OutputRow(case_id, k, sha, reason, seed, self._detail | detail, seconds)

        try:
            if isinstance(made, BaseException):
                raise made
            result = made if isinstance(made, Edit) else Edit(made)
            files = {self._run.output_path(case_id, k): encode_png(as_picture(result.picture))}
            for number, one in enumerate(result.attempts):
                path = self._run.attempt_path(case_id, k, number)
                files[path] = encode_png(as_picture(one))
            looked = None if result.attention is None else as_map(result.attention)
        except (Refused, InputError) as error:
            return row(None, one_line(str(error)), getattr(error, "detail", {}))
        except (Exception, SystemExit) as error:
            return row(None, one_line(f"{type(error).__name__}: {error}"), {})
        try:
            if looked is not None:
                path = self._run.attention_path(case_id, k)
                path.parent.mkdir(exist_ok=True)
                write_map(path, looked)
            for path, data in files.items():
                write_bytes(path, data)
        except OSError as error:
            trouble = disk_trouble(error, self._run.path)
            if trouble is None:
                return row(None, f"could not be written ({error.strerror})", {})
            return row(None, trouble.partition(";")[0], {"disk": trouble})
        # Tells `ground` that the map beside the picture is this picture's.
        told: dict[str, Any] = {"attention": {}} if looked is not None else {}
        return row(sha256(next(iter(files.values()))), None, told | result.detail)

    def _drop_attempts(self, case_id: str, k: int) -> None:
        """Those of an earlier try."""
        number = 0
        while (path := self._run.attempt_path(case_id, k, number)).exists():
            path.unlink()
            number += 1

    def _request(self, opened: OpenCase, k: int) -> Request:
        seed = self._seed(opened.case, k)
        if self._demonstrations is None:
            return Request(opened, k, seed)
        shown = self._demonstrations.draw(opened.case, seed)
        return Request(opened, k, seed, demonstrations=shown)

    def _seed(self, case: Case, k: int) -> int:
        # The settings of a sweep are compared on the same noise.
        return case_seed(self._run.info.seed, case.id, 0 if self._run.info.sweep else k)

    def _done(self, opened: OpenCase, rows: list[OutputRow | None]) -> Done:
        case = opened.case
        try:
            source = opened.source
        except ImageError:
            source = f"unreadable-{case.id}"
        now = self._cases.hashes.get(case.id) or hash_case(case)
        made = tuple(row for row in rows if row is not None)
        return Done(CaseRow.of(case, now, source), made)
