"""`edit`: an editor on every case of a set, resumable."""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from medebench.cases import CaseSet, load_cases
from medebench.clients.keys import keys_optional
from medebench.clients.tally import Plan, add_plans
from medebench.editors import Chosen, find_editor
from medebench.errors import InputError, MedebenchError, NotReadyError
from medebench.progress import Progress, silent
from medebench.runs.demonstrations import Demonstrations
from medebench.runs.failed_calls import Failures
from medebench.runs.ledger import OutputRow
from medebench.runs.making import Maker, Work
from medebench.runs.provenance import now, versions
from medebench.runs.run import (
    INFO,
    MOST_OUTPUTS,
    CasesInfo,
    Run,
    RunInfo,
    Tuned,
    create_or_continue,
    require_free,
    same_run,
)


class DiskError(MedebenchError):
    pass


class NotAllTriedError(MedebenchError):
    """Some outputs were not tried; what was made is kept."""


def edit(
    cases: str | Path | CaseSet,
    editor: str | Chosen | Sequence[Chosen],
    out: str | Path,
    *,
    settings: dict[str, Any] | None = None,
    seed: int = 0,
    outputs: int = 1,
    tuned: Tuned | None = None,
    pool: CaseSet | None = None,
    workers: int | None = None,
    retry_failed: bool = False,
    progress: Progress = silent,
    failures: Failures | None = None,
) -> Run:
    """Run `editor` on `cases` into the folder `out`; what is there already is not done again.

    `outputs` is how many pictures to make per case, each with a seed of its own. Several editors
    of one name are a sweep: each makes one output k of every case, all from the same seed; `tuned`
    says how the settings were found by one. Demonstrations, for editors that want them, come from
    `pool`: all of the set, unless another is given. `failures` counts what failed now, and why.
    """
    job = _job(cases, editor, settings, seed, outputs, pool, workers)
    job.info.tuned = tuned
    try:
        noted = Failures() if failures is None else failures
        return _run(job, Path(out).expanduser(), workers, retry_failed, progress, noted)
    finally:
        for one in job.passes:
            one.chosen.close()


def _run(
    job: _Job,
    out: Path,
    workers: int | None,
    retry_failed: bool,
    progress: Progress,
    failures: Failures,
) -> Run:
    if not (out / INFO).exists():
        require_free(out)
        # An editor that does not load leaves no run behind.
        _load(job.passes)
    run = create_or_continue(out, job.info)
    not_tried: Counter[str] = Counter()
    with run.locked() as ledger:
        known = ledger.outputs()
        pending = [_pending(run, job.cases, one, known, retry_failed) for one in job.passes]
        total = len(job.cases) * len(job.passes)
        finished = total - sum(map(len, pending))
        progress(finished, total)
        last: Chosen | None = None
        for one, work in zip(job.passes, pending, strict=True):
            if not work:
                continue
            if last is not None:
                one.chosen.share(last)
                last.close()
            last = one.chosen
            last.prepare()
            maker = job.maker(run, one)
            results = maker.make(work, workers)
            try:
                for done in results:
                    ledger.write(done.case, *done.outputs)
                    failures.note(done.outputs)
                    finished += 1
                    progress(finished, total)
                    for row in done.outputs:
                        if trouble := row.detail.get("disk"):
                            raise DiskError(f"{run.path}: {trouble} with --retry-failed")
            finally:
                results.close()
            not_tried += maker.not_tried
    if not_tried:
        why, _ = not_tried.most_common(1)[0]
        raise NotAllTriedError(
            f"{run.path}: {not_tried.total()} outputs were not tried: {why}; run again to continue"
        )
    return run


def estimate_editing(
    cases: str | Path | CaseSet,
    editor: str | Chosen | Sequence[Chosen],
    out: str | Path,
    *,
    settings: dict[str, Any] | None = None,
    seed: int = 0,
    outputs: int = 1,
    workers: int | None = None,
    retry_failed: bool = False,
) -> Plan:
    """Calls, tokens and money that `edit` would take; no call is made, nothing is written."""
    with keys_optional():
        return _estimate(
            _job(cases, editor, settings, seed, outputs, None, workers, ready=False),
            Path(out).expanduser(),
            retry_failed,
        )


def _estimate(job: _Job, path: Path, retry_failed: bool) -> Plan:
    run = Run(path.absolute(), job.info)
    known: dict[tuple[str, int], OutputRow] = {}
    if (path / INFO).exists():
        run = same_run(path, job.info)
        with run.ledger() as ledger:
            known = ledger.outputs()
    plans = []
    for one in job.passes:
        estimate = getattr(one.chosen.editor, "estimate", None)
        if not callable(estimate):
            raise InputError(f"--dry-run: editor '{one.chosen.name}' makes no calls that cost")
        work = _pending(run, job.cases, one, known, retry_failed)
        plans.append(estimate(job.maker(run, one).requests(work)))
        one.chosen.close()
    return add_plans(plans)


@dataclass(frozen=True)
class _Pass:
    """The outputs k of every case that one editor makes."""

    chosen: Chosen
    ks: tuple[int, ...]


def _load(passes: Sequence[_Pass]) -> None:
    """The first editor, and all that can share what it has loaded, so that wrong settings show."""
    passes[0].chosen.prepare()
    for before, one in itertools.pairwise(passes):
        if not one.chosen.share(before.chosen):
            return
        one.chosen.prepare()


@dataclass(frozen=True)
class _Job:
    cases: CaseSet
    info: RunInfo
    passes: list[_Pass]
    demonstrations: Demonstrations | None

    def maker(self, run: Run, one: _Pass) -> Maker:
        swept = {"settings": self.info.sweep[one.ks[0]]} if self.info.sweep else {}
        wanted = getattr(one.chosen.editor, "demonstrations", 0)
        shown = self.demonstrations if wanted else None
        return Maker(run, one.chosen, self.cases, shown, swept)


def _job(
    cases: str | Path | CaseSet,
    editor: str | Chosen | Sequence[Chosen],
    settings: dict[str, Any] | None,
    seed: int,
    outputs: int,
    pool: CaseSet | None,
    workers: int | None,
    ready: bool = True,
) -> _Job:
    if isinstance(editor, str):
        editor = find_editor(editor, settings)
    chosen = [editor] if isinstance(editor, Chosen) else list(editor)
    found = load_cases(cases)
    if not 1 <= max(outputs, len(chosen)) <= MOST_OUTPUTS or outputs < 1:
        raise InputError(f"outputs: 1 to {MOST_OUTPUTS} per case")
    for one in chosen if ready else ():
        one.require_ready()
    shown = _demonstrations(found, pool, chosen, workers)
    common, differing = _apart([one.settings for one in chosen])
    origins = [one.origin for one in chosen] + [_identity(one, ready) for one in chosen]
    origins += [f"demonstrations of {shown.fingerprint[:12]}"] if shown else []
    info = RunInfo(
        editor=chosen[0].name,
        settings=common,
        sweep=differing if len(chosen) > 1 else [],
        how=chosen[0].how,
        origin=", ".join(dict.fromkeys(filter(None, origins))),
        control=chosen[0].control,
        sees=list(chosen[0].sees),
        judged_by=chosen[0].judged_by,
        seed=seed,
        outputs_per_case=len(chosen) if len(chosen) > 1 else outputs,
        cases=cases_info(found),
        created=now(),
        versions=versions(),
    )
    passes = [_Pass(chosen[0], tuple(range(outputs)))]
    if len(chosen) > 1:
        passes = [_Pass(one, (k,)) for k, one in enumerate(chosen)]
    return _Job(found, info, passes, shown)


def _identity(chosen: Chosen, ready: bool) -> str:
    try:
        return chosen.identity()
    except NotReadyError:
        if ready:
            raise
        return ""


def _demonstrations(
    cases: CaseSet, pool: CaseSet | None, chosen: Sequence[Chosen], workers: int | None
) -> Demonstrations | None:
    counts = {int(getattr(one.editor, "demonstrations", 0)) for one in chosen} - {0}
    if len(counts) > 1:
        raise InputError("demonstrations: one number for a sweep; make a run for each number")
    if not counts:
        return None
    # A run of a few cases learns from all of its set.
    pool = pool or load_cases(cases.source or cases)
    return Demonstrations(pool, cases, counts.pop(), workers)


def _apart(given: list[dict[str, Any]]) -> tuple[dict[str, Any], list[dict[str, Any]]]:
    """Settings that are the same for all, and what each has for itself."""
    first = given[0]
    common = {name: value for name, value in first.items() if all(g[name] == value for g in given)}
    return common, [{name: g[name] for name in g if name not in common} for g in given]


def _pending(
    run: Run,
    cases: CaseSet,
    one: _Pass,
    known: dict[tuple[str, int], OutputRow],
    retry_failed: bool,
) -> list[Work]:
    def work() -> Iterator[Work]:
        for case in cases:
            wanted = tuple(
                k
                for k in one.ks
                if _is_open(known.get((case.id, k)), run.output_path(case.id, k), retry_failed)
            )
            if wanted:
                yield Work(case, wanted)

    return list(work())


def _is_open(row: OutputRow | None, path: Path, retry_failed: bool) -> bool:
    if row is None:
        return True
    return retry_failed if row.reason is not None else not path.is_file()


def cases_info(cases: CaseSet, of: int | None = None) -> CasesInfo:
    return CasesInfo(
        name=cases.name,
        source=cases.source,
        fingerprint=cases.fingerprint,
        count=len(cases),
        of=len(cases) if of is None else of,
    )
