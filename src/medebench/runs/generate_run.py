"""`generate`: a system on every case of a set, resumable. `edit` is its name for editing sets."""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from medebench.cases import CaseSet, load_cases
from medebench.engine.executors import find_executor
from medebench.engine.named import Named
from medebench.engine.stages import Executor
from medebench.errors import InputError, MedebenchError, NotReadyError
from medebench.models.api_keys import keys_optional
from medebench.models.tally import Plan, add_plans
from medebench.outputs import OutputFiles, Part
from medebench.progress import Progress, silent
from medebench.runs.demonstrations import Demonstrations, FixedDemonstrations, Shown
from medebench.runs.drive import drive
from medebench.runs.failed_calls import Failures
from medebench.runs.ledger import OutputRow
from medebench.runs.provenance import now, versions
from medebench.runs.run_folder import (
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
from medebench.runs.stages.made_outputs import BatchOutputs, MadeOutputs
from medebench.runs.visits import Visit, new_targets
from medebench.systems import System, SystemInstance, find_system
from medebench.systems.capabilities import declares_parts
from medebench.tasks import Task, find_task

AnySystem = str | SystemInstance | Sequence[SystemInstance]


class NotAllTriedError(MedebenchError):
    """Some outputs were not tried; what was made is kept."""


def generate(
    cases: str | Path | CaseSet,
    system: AnySystem,
    out: str | Path,
    *,
    settings: dict[str, Any] | None = None,
    seed: int = 0,
    outputs: int = 1,
    tuned: Tuned | None = None,
    pool: CaseSet | None = None,
    shown: Sequence[str] | None = None,
    workers: int | None = None,
    retry_failed: bool = False,
    progress: Progress = silent,
    failures: Failures | None = None,
    executor: str = "threads",
) -> Run:
    """Run a system on every case; what is in the folder already is not done again.

    Args:
        cases: what `load_cases` takes; its task says what must come out.
        system: `NAME[:key=value,...]` or `file.py:Name`. Several instances of one name are a sweep:
            each makes one output k of every case, all from the same seed.
        out: the run's folder; an existing one is continued.
        settings: the system's, in place of those in its name.
        seed: of the run; every output has one of its own, made from it.
        outputs: how many to make per case.
        tuned: how the settings were found by a sweep.
        pool: where demonstrations come from, for systems that want them; all of the set unless
            given.
        shown: ids of the cases to show, in this order and with every case; drawn from the pool by
            seed unless given.
        workers: threads or processes; one per core unless given.
        retry_failed: also those outputs that could not be made before.
        progress: called with what is done, of how many.
        failures: counts what failed now, and why.
        executor: `threads`, or `processes`, where a system given by name is loaded in each.

    Returns:
        The run, to be scored.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     generate("phantoms:count=2", "blur:sigma=2", folder).info.editor
    'blur'
    """
    job = _job(cases, system, settings, seed, outputs, pool, shown, workers)
    job.info.tuned = tuned
    try:
        how = [one.executor(executor, workers) for one in job.passes]
        noted = Failures() if failures is None else failures
        return _run(job, Path(out).expanduser(), how, retry_failed, progress, noted)
    finally:
        for one in job.passes:
            one.system.close()


def edit(cases: str | Path | CaseSet, editor: AnySystem, out: str | Path, **options: Any) -> Run:
    """Run an editor on every case of an editing set: `generate` under its older name.

    Args:
        cases: what `load_cases` takes.
        editor: `NAME[:key=value,...]` or `file.py:Name`.
        out: the run's folder; an existing one is continued.
        options: those of `generate`.

    Returns:
        The run, to be scored.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     edit("phantoms:count=2", "inpaint", out=folder, seed=1).info.editor
    'inpaint'
    """
    return generate(cases, editor, out, **options)


def _run(
    job: _Job,
    out: Path,
    executors: Sequence[Executor],
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
        last: System | None = None
        for one, visits, executor in zip(job.passes, pending, executors, strict=True):
            if not visits:
                continue
            if last is not None:
                one.system.share(last)
                last.close()
            last = one.system
            last.prepare()
            stage = job.stage(run, one)

            def tell(done: int, _: int, before: int = finished) -> None:
                progress(before + done, total)

            not_tried += drive(
                [stage], visits, [run], [ledger], executor, progress=tell, failures=failures
            )
            finished += len(visits)
    if not_tried:
        why, _ = not_tried.most_common(1)[0]
        raise NotAllTriedError(
            f"{run.path}: {not_tried.total()} outputs were not tried: {why}; run again to continue"
        )
    return run


def estimate_generation(
    cases: str | Path | CaseSet,
    system: AnySystem,
    out: str | Path,
    *,
    settings: dict[str, Any] | None = None,
    seed: int = 0,
    outputs: int = 1,
    shown: Sequence[str] | None = None,
    workers: int | None = None,
    retry_failed: bool = False,
) -> Plan:
    """Calls, tokens and money that `generate` would take; no call is made, nothing is written."""
    path, plans = Path(out).expanduser(), []
    with keys_optional():
        job = _job(cases, system, settings, seed, outputs, None, shown, workers, ready=False)
        run = Run(path.absolute(), job.info)
        known: dict[tuple[str, int], OutputRow] = {}
        if (path / INFO).exists():
            run = same_run(path, job.info)
            with run.ledger() as ledger:
                known = ledger.outputs()
        for one in job.passes:
            visits = _pending(run, job.cases, one, known, retry_failed)
            plan = one.system.estimate(job.stage(run, one).requests(visits))
            if plan is None:
                raise InputError(f"--dry-run: {one.called} makes no calls that cost")
            plans.append(plan)
            one.system.close()
    return add_plans(plans)


@dataclass(frozen=True)
class _Pass:
    """The outputs k of every case that one system makes."""

    named: Named[SystemInstance]
    ks: tuple[int, ...]

    @property
    def instance(self) -> SystemInstance:
        return self.named.thing

    @property
    def system(self) -> System:
        return self.instance.system

    @property
    def called(self) -> str:
        return f"{self.instance.noun} '{self.instance.name}'"

    def executor(self, name: str, workers: int | None) -> Executor:
        at_once, is_batched = self.system.at_once, self.instance.is_batched
        if name != "threads" and (at_once or is_batched):
            why = "owns a device" if is_batched else "waits for others, with its own limits"
            raise InputError(f"executor '{name}': {self.called} {why}; use executor 'threads'")
        if name != "threads":
            self.named.require_name()
        # A picture that took a minute must not wait for another one before it is written down.
        return find_executor(name, at_once or workers, ordered=is_batched)


def _load(passes: Sequence[_Pass]) -> None:
    """The first system, and all that can share what it has loaded, so that wrong settings show."""
    passes[0].system.prepare()
    for before, one in itertools.pairwise(passes):
        if not one.system.share(before.system):
            return
        one.system.prepare()


@dataclass(frozen=True)
class _Job:
    cases: CaseSet
    info: RunInfo
    passes: list[_Pass]
    demonstrations: Shown | None

    def stage(self, run: Run, one: _Pass) -> MadeOutputs:
        swept = {"settings": self.info.sweep[one.ks[0]]} if self.info.sweep else {}
        shown = self.demonstrations if one.system.demonstrations else None
        if shown is not None:
            shown.prepare()
        kind = BatchOutputs if one.instance.is_batched else MadeOutputs
        return kind(run, one.named, shown, swept)


def _job(
    cases: str | Path | CaseSet,
    system: AnySystem,
    settings: dict[str, Any] | None,
    seed: int,
    outputs: int,
    pool: CaseSet | None,
    shown: Sequence[str] | None,
    workers: int | None,
    ready: bool = True,
) -> _Job:
    find = partial(find_system, given=settings)
    call = system if isinstance(system, str) else None
    if isinstance(system, str):
        system = find(system)
    chosen = [system] if isinstance(system, SystemInstance) else list(system)
    whole = load_cases(cases)
    task = find_task(whole.task)
    if not 1 <= max(outputs, len(chosen)) <= MOST_OUTPUTS or outputs < 1:
        raise InputError(f"outputs: 1 to {MOST_OUTPUTS} per case")
    for one in chosen:
        require_parts(one, task)
        if ready:
            one.require_ready()
    found = _askable(whole, chosen, task)
    given = _demonstrations(found, pool, shown, chosen, workers)
    common, differing = _apart([one.settings for one in chosen])
    origins = [one.origin for one in chosen] + [_identity(one, ready) for one in chosen]
    origins += [f"demonstrations of {given.fingerprint[:12]}"] if given else []
    first = chosen[0]
    info = RunInfo(
        editor=first.name,
        settings=common,
        sweep=differing if len(chosen) > 1 else [],
        how=first.runtime_only,
        origin=", ".join(dict.fromkeys(filter(None, origins))),
        control=bool(first.system.control),
        sees=list(first.system.sees),
        judged_by=first.system.judged_by,
        seed=seed,
        outputs_per_case=len(chosen) if len(chosen) > 1 else outputs,
        cases=cases_info(found, of=len(whole)),
        task=found.task,
        gives=[part for part in task.gives if not first.system.control or _can_give(first, part)],
        created=now(),
        versions=versions(),
    )
    passes = [_Pass(Named(call, find, first), tuple(range(outputs)))]
    if len(chosen) > 1:
        passes = [_Pass(Named(None, find, one), (k,)) for k, one in enumerate(chosen)]
    return _Job(found, info, passes, given)


def require_parts(one: SystemInstance, task: Task) -> None:
    """Before any work: a system that gives nothing of what the task asks for is refused."""
    if declares_parts(type(one.system)) and not set(one.system.gives) & set(task.gives):
        gives, asked = (" and ".join(parts) for parts in (one.system.gives, task.gives))
        raise InputError(
            f"{one.noun} '{one.name}': gives {gives}, and the task '{task.name}' asks for {asked}; "
            "`medebench systems` lists what each gives, `gives` says it of your own"
        )


def _askable(cases: CaseSet, chosen: Sequence[SystemInstance], task: Task) -> CaseSet:
    """The cases that have what the systems need and, of several kinds of work, ask for what they
    give: for nothing else, or of a control, for some of it."""
    takes = {name for one in chosen for name in one.system.takes}
    able = [case for case in cases if all(getattr(case, name) for name in takes)]
    if not able:
        called = f"{chosen[0].noun} '{chosen[0].name}'"
        raise InputError(f"{called}: no case has {' and '.join(sorted(takes))}")
    gives = {part for part in task.gives if all(_can_give(one, part) for one in chosen)}
    partly = all(one.system.control for one in chosen)
    kinds = {case.id: task.of(case) for case in able}
    if any(kind is not task for kind in kinds.values()):
        asked = {case_id: set(kind.gives) for case_id, kind in kinds.items()}
        able = [
            case for case in able if (asked[case.id] & gives if partly else asked[case.id] <= gives)
        ]
    if not able:
        wanted = sorted({" and ".join(kind.gives) for kind in kinds.values()})
        raise InputError(
            f"{chosen[0].noun} '{chosen[0].name}': gives {' and '.join(sorted(gives))}, and no "
            f"case asks for only that; they ask for {', '.join(wanted)}"
        )
    return cases if len(able) == len(cases) else cases.select(ids=[case.id for case in able])


def _can_give(one: SystemInstance, part: Part) -> bool:
    """What a stranger's system gives may not be known before it is asked."""
    return not declares_parts(type(one.system)) or part in one.system.gives


def _identity(one: SystemInstance, ready: bool) -> str:
    try:
        return str(one.system.identity())
    except NotReadyError:
        if ready:
            raise
        return ""


def _demonstrations(
    cases: CaseSet,
    pool: CaseSet | None,
    shown: Sequence[str] | None,
    chosen: Sequence[SystemInstance],
    workers: int | None,
) -> Shown | None:
    counts = {one.system.demonstrations for one in chosen} - {0}
    if len(counts) > 1:
        raise InputError("demonstrations: one number for a sweep; make a run for each number")
    if not counts:
        if shown:
            raise InputError(f"shown: {chosen[0].name} is not asked to show any; leave it out")
        return None
    # A run of a few cases learns from all of its set.
    pool = pool or load_cases(cases.source or cases, task=cases.task)
    if shown is not None:
        return FixedDemonstrations(pool, cases, shown, counts.pop(), workers)
    least = chosen[0].system.least_demonstrations
    return Demonstrations(pool, cases, counts.pop(), workers, least)


def _apart(given: list[dict[str, Any]]) -> tuple[dict[str, Any], list[dict[str, Any]]]:
    """Settings that are the same for all, and what each has for itself."""
    first = given[0]
    # A setting that came later is there only where it is not at its default.
    common = {
        name: value for name, value in first.items() if all(g.get(name) == value for g in given)
    }
    return common, [{name: g[name] for name in g if name not in common} for g in given]


def _pending(
    run: Run,
    cases: CaseSet,
    one: _Pass,
    known: dict[tuple[str, int], OutputRow],
    retry_failed: bool,
) -> list[Visit]:
    visits = []
    for case in cases:
        files = {k: run.output_files(case.id, k) for k in one.ks}
        ks = [k for k in one.ks if _is_open(known.get((case.id, k)), files[k], retry_failed)]
        if ks:
            visits.append(Visit(case, new_targets(run, case, ks, cases)))
    return visits


def _is_open(row: OutputRow | None, files: OutputFiles, retry_failed: bool) -> bool:
    if row is None:
        return True
    return retry_failed if row.reason is not None else not files.are_there()


def cases_info(cases: CaseSet, of: int | None = None) -> CasesInfo:
    return CasesInfo(
        name=cases.name,
        source=cases.source,
        fingerprint=cases.fingerprint,
        count=len(cases),
        of=len(cases) if of is None else of,
    )
