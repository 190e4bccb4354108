"""Turning cases into outputs: on all cores, or in batches for a system that owns a device."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

from medebench.cases import OpenCase, open_case
from medebench.engine.batches import one_by_one
from medebench.engine.named import Named
from medebench.errors import ImageError, InputError, one_line
from medebench.files import disk_trouble, write_bytes
from medebench.grounding.attention_files import write_map
from medebench.images.picture import encode_png
from medebench.outputs import Output, Stored
from medebench.reason import Reason
from medebench.runs.demonstrations import Shown
from medebench.runs.ledger import CaseRow, OutputRow
from medebench.runs.run_folder import Run
from medebench.runs.stages.output_stage import DeviceStage, Found, Held, NotDone, OutputStage, Rows
from medebench.runs.visits import Opened, Target, Visit
from medebench.systems import NotTried, Refused, Request, SystemInstance, case_seed
from medebench.systems.returned_output import as_map, as_output, as_picture
from medebench.tasks import Task, find_task


@dataclass(frozen=True)
class Wish:
    """An output to be made, and what there is to make it from."""

    target: Target
    request: Request


class MadeOutputs(OutputStage):
    """Makes the outputs of one system. `detail` stands beside each of them in the ledger."""

    needs = ""
    at_home = frozenset({"task"})

    def __init__(
        self,
        run: Run,
        system: Named[SystemInstance],
        demonstrations: Shown | None = None,
        detail: dict[str, Any] | None = None,
    ) -> None:
        self.run, self.system, self.detail = run, system, detail or {}
        self._demonstrations = demonstrations

    def wants(self, target: Target, sha: str | None) -> list[str]:
        return ["output"]

    def do(self, opened: Opened, names: Sequence[str]) -> list[Found]:
        start, made = time.perf_counter(), None
        try:
            made = self.make(opened.target, self.request(opened.case, opened.target.k))
        except (Exception, SystemExit) as error:
            made = error
        if isinstance(made, Held):
            return [made]
        return [*self.rows(opened.target, opened.case, made, time.perf_counter() - start)]

    def make(self, target: Target, request: Request) -> Any:
        return self.system.thing.generate(request)

    def close(self) -> None:
        if self.system.travelled:
            self.system.thing.system.close()

    @cached_property
    def task(self) -> Task:
        return find_task(self.run.info.task)

    def request(self, case: OpenCase, k: int) -> Request:
        gives = self.task.of(case.case).gives
        if lacking := self.task.lacks(case.case):
            needed = " and no ".join(lacking)
            raise Refused(f"the case has no {needed}, which the task '{self.task.name}' needs")
        seed = self.seed(case, k)
        if self._demonstrations is None:
            return Request(case, k, seed, gives=gives)
        shown = self._demonstrations.draw(case.case, seed)
        return Request(case, k, seed, demonstrations=shown, gives=gives)

    def requests(self, visits: Sequence[Visit]) -> Iterator[Request]:
        """What the system will be asked, for an estimate."""
        for visit in visits:
            case = open_case(visit.case)
            for target in visit.targets:
                try:
                    yield self.request(case, target.k)
                except (Refused, InputError):
                    continue

    def seed(self, case: OpenCase, k: int) -> int:
        # The settings of a sweep are compared on the same noise.
        return case_seed(self.run.info.seed, case.case.id, 0 if self.run.info.sweep else k)

    def rows(
        self, target: Target, case: OpenCase, made: Any, seconds: float
    ) -> list[CaseRow | OutputRow | NotDone]:
        """Store an output, or the reason why there is none: a strange system must not end a run."""
        row = CaseRow.of_opened(case, target.now)
        if isinstance(made, NotTried):
            return [row, NotDone(one_line(str(made)))]
        return [row, self._stored(target, self.seed(case, target.k), made, seconds)]

    def _stored(self, target: Target, seed: int, made: Any, seconds: float) -> OutputRow:
        run, place = self.run, target.place
        self._drop_attempts(target)

        def row(sha: str | None, reason: Reason | None, detail: dict[str, Any]) -> OutputRow:
            return OutputRow(*place, sha, reason, seed, self.detail | detail, seconds)

        try:
            if isinstance(made, BaseException):
                raise made
            result = as_output(made)
            stored = self._wanted(result, target)
            drafts = [encode_png(as_picture(one)) for one in result.drafts]
            looked = None if result.attention is None else as_map(result.attention)
        except (Refused, InputError) as error:
            kind = "unreadable" if isinstance(error, ImageError) else "refused"
            why = Reason(kind, one_line(str(error)))
            return row(None, why, getattr(error, "detail", {}))
        except (Exception, SystemExit) as error:
            return row(None, Reason("error", one_line(f"{type(error).__name__}: {error}")), {})
        try:
            if looked is not None:
                path = run.attention_path(*place)
                path.parent.mkdir(exist_ok=True)
                write_map(path, looked)
            for number, data in enumerate(drafts):
                write_bytes(run.attempt_path(*place, number), data)
            target.files.write(stored)
        except OSError as error:
            trouble = disk_trouble(error, run.path)
            if trouble is None:
                return row(None, Reason("disk", f"could not be written ({error.strerror})"), {})
            return row(None, Reason("disk", trouble.partition(";")[0]), {"disk": trouble})
        # Tells `ground` that the map beside the picture is this picture's.
        told: dict[str, Any] = {"attention": {}} if looked is not None else {}
        return row(stored.sha256, None, told | result.detail)

    def _wanted(self, output: Output, target: Target) -> Stored:
        """The parts that the task asks for; what else a system gave is let go of."""
        asked = [part for part in target.files.parts if part in target.gives]
        stored = replace(target.files, parts=asked).encoded(output)
        if not stored.data:
            wanted, given = (" and ".join(one) for one in (asked, output.parts))
            raise Refused(f"the system gave {given or 'nothing'}; the task asks for {wanted}")
        return stored

    def _drop_attempts(self, target: Target) -> None:
        """Those of an earlier try."""
        number = 0
        while (path := self.run.attempt_path(*target.place, number)).exists():
            path.unlink()
            number += 1


class BatchOutputs(MadeOutputs, DeviceStage):
    """The same of a system that owns a device."""

    def make(self, target: Target, request: Request) -> Held:
        return Held(Wish(target, request))

    def is_full(self, waiting: Sequence[Wish]) -> bool:
        """Whole cases, as many as fill a batch."""
        return len(waiting) >= (self.system.thing.system.batch or 1)

    def finish(self, items: Sequence[Wish]) -> Iterator[Rows]:
        start = time.perf_counter()

        def generate(some: Sequence[Wish]) -> list[tuple[Any, float]]:
            nonlocal start
            start = time.perf_counter()
            made = self.system.thing.generate_batch([one.request for one in some])
            seconds = (time.perf_counter() - start) / len(some)
            return [(one, seconds) for one in made]

        def failed(error: BaseException) -> tuple[Any, float]:
            return error, time.perf_counter() - start

        made = one_by_one(generate, items, failed, SystemExit)
        yield [
            (wish.target.run, row)
            for wish, (result, seconds) in zip(items, made, strict=True)
            for row in self.rows(wish.target, wish.request.case, result, seconds)
        ]
