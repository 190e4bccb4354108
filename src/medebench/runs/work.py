"""What is still to be scored: outputs grouped by case, so that its pictures are decoded once."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from medebench.cases import Case, OpenCase, open_case
from medebench.cases.image import Picture, read_file, read_picture
from medebench.errors import ImageError, InputError
from medebench.files import sha256
from medebench.runs.case_state import CasesNow, CaseState
from medebench.runs.ledger import Ledger, OutputRow, ScoreRow
from medebench.runs.run import Run

#: The scores that are wanted; one of another variant than the one named here does not count.
Wanted = Mapping[str, str | None]
#: What a score was computed from: the hash of the picture, and the digest of the case.
Origin = tuple[str | None, str | None]


@dataclass(frozen=True)
class Output:
    """One output, with what the ledger knows of it."""

    run: int
    row: OutputRow
    path: Path
    #: The case as it is now.
    state: CaseState
    #: score -> what it was computed from; absent where it must be computed
    scored: dict[str, Origin]

    def missing(self, wanted: Wanted, sha: str | None) -> list[str]:
        return [name for name in wanted if not self._holds(name, sha)]

    def _holds(self, name: str, sha: str | None) -> bool:
        picture, case = self.scored.get(name, ("", ""))
        # That there is no picture is true of the case in every state.
        return picture == sha and (sha is None or case == self.state.digest)


@dataclass(frozen=True)
class Work:
    case: Case
    outputs: tuple[Output, ...]


@dataclass(frozen=True)
class Opened:
    """An output with scores missing: its picture on the case's grid, or the reason why not."""

    output: Output
    case: OpenCase
    missing: list[str]
    sha: str | None
    picture: Picture | None
    reason: str | None

    @property
    def key(self) -> tuple[str, int]:
        return self.output.row.case_id, self.output.row.k

    def without_picture(self) -> list[ScoreRow]:
        """The rows of an output that cannot be scored at all."""
        reason, seen = self.reason or "no output", self.output.state.digest
        return [
            ScoreRow(*self.key, name, self.sha, None, reason, seen=seen) for name in self.missing
        ]

    def replaced(self) -> list[OutputRow]:
        """The file was replaced by hand: from now on it is the output."""
        if self.sha is None or self.sha == self.output.row.sha256:
            return []
        return [OutputRow(*self.key, self.sha, None, None, {"replaced": True})]


def take_stock(runs: Sequence[Run], ledgers: Sequence[Ledger], workers: int | None = None) -> None:
    """Look at the cases before anything is scored, and take over what changed unseen by editors.

    The outputs are still those of the case, and are scored again.
    """
    now = CasesNow(workers)
    for run, ledger in zip(runs, ledgers, strict=True):
        run.look_again(now)
        known = ledger.cases()
        new = [state.row for case_id, state in run.states.items() if state.row != known[case_id]]
        ledger.write(*new)


def plan_work(
    runs: Sequence[Run], ledgers: Sequence[Ledger], wanted: Wanted, retry_failed: bool
) -> list[Work]:
    """All outputs of `runs` that may lack one of the wanted scores."""
    groups: dict[Case, Work] = {}
    for index, (run, ledger) in enumerate(zip(runs, ledgers, strict=True)):
        cases = run.cases
        scored = _scored(ledger, wanted, retry_failed)
        for (case_id, k), row in ledger.outputs().items():
            if case_id not in cases:
                raise InputError(
                    f"{run.path}: case {case_id} is no longer in {run.info.cases.source}"
                )
            path, state = run.output_path(case_id, k), run.states[case_id]
            output = Output(index, row, path, state, scored.get((case_id, k), {}))
            if row.sha256 is None and not output.missing(wanted, None):
                continue
            case = cases[case_id]
            before = groups[case].outputs if case in groups else ()
            groups[case] = Work(case, (*before, output))
    return list(groups.values())


def _scored(
    ledger: Ledger, wanted: Wanted, retry_failed: bool
) -> dict[tuple[str, int], dict[str, Origin]]:
    found: dict[tuple[str, int], dict[str, Origin]] = {}
    for row in ledger.scores():
        if retry_failed and row.reason is not None:
            continue
        # Reasons that came before any judge was asked hold for every variant.
        variant = row.detail.get("variant")
        known = variant is not None or row.reason is None
        if known and wanted.get(row.metric) not in (None, variant):
            continue
        found.setdefault((row.case_id, row.k), {})[row.metric] = row.output, row.seen
    return found


def open_outputs(work: Work, wanted: Wanted) -> Iterator[Opened]:
    """The outputs of one case that lack a score, decoded one at a time."""
    case = open_case(work.case)
    for output in work.outputs:
        data, sha, reason = _read(output)
        missing = output.missing(wanted, sha)
        if not missing:
            continue
        reason = reason or output.state.reason
        picture: Picture | None = None
        if reason is None and data is not None:
            try:
                picture = case.fit(read_picture(output.path, data))
                # Shared by all metrics: none may change what the next one sees.
                picture.setflags(write=False)
            except ImageError as error:
                reason = _unreadable(error, output)
        yield Opened(output, case, missing, sha, picture, reason)


def _read(output: Output) -> tuple[bytes | None, str | None, str | None]:
    """Bytes, hash and reason; a file that appeared where there was none counts as an output."""
    try:
        data = read_file(output.path)
        return data, sha256(data), None
    except ImageError:
        if output.row.sha256 is None:
            return None, None, f"no output: {output.row.reason}"
        return None, None, "the output file is missing"


def _unreadable(error: ImageError, output: Output) -> str:
    # Case pictures are named by path; an output is known by its case and k.
    text = str(error)
    prefix = f"{output.path}: "
    return f"unreadable output: {text[len(prefix) :]}" if text.startswith(prefix) else text
