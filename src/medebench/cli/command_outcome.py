"""How edit, adopt and score end: counts, the commonest reasons, the exit code."""

from __future__ import annotations

import shlex
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import asdict
from itertools import groupby
from pathlib import Path
from typing import TYPE_CHECKING, Any

from medebench.cli.console import fail, print_json, print_line, say
from medebench.reason_groups import ReasonGroup, group_reasons, reasons_in_words

if TYPE_CHECKING:
    from medebench.cases import CaseSet
    from medebench.models import Plan
    from medebench.runs import Run
    from medebench.runs.failed_calls import Failures
    from medebench.runs.ledger import SetRow


#: Different reasons that a summary lists.
_MOST_WORDS = 5


def finish(failures: Failures, noun: str, of: str = "") -> None:
    """Exit 1 if calls failed in this command, with the commonest reason in the last line."""
    if failures:
        raise fail(failures.in_words(noun, of), 1)


def finish_edit(run: Run, failures: Failures, as_json: bool) -> None:
    """Report the outputs of a run; exit 1 if some failed in this command."""
    finish_edits([run], failures, as_json, "--retry-failed retries them")


def finish_edits(
    runs: Sequence[Run], failures: Failures, as_json: bool, retry: str, cases: CaseSet | None = None
) -> None:
    """The same of several runs; `cases` are those that adopted files should be named after."""
    facts = [_edit_facts(run) for run in runs]
    if as_json:
        print_json(facts[0] if len(runs) == 1 else {"runs": facts})
    else:
        for run, one in zip(runs, facts, strict=True):
            _say_edit(run, one, retry, cases)
    finish(failures, "output")


def _edit_facts(run: Run) -> dict[str, Any]:
    with run.ledger() as ledger:
        rows = list(ledger.outputs().values())
        cost = ledger.editing_cost()
    reasons = [row.reason for row in rows if row.reason is not None]
    facts = {"outputs": len(rows) - len(reasons), "failed": len(reasons)} | reason_facts(reasons)
    partial = Counter(
        f"no {part}: {why}" for row in rows for part, why in row.detail.get("without", {}).items()
    )
    if partial:
        facts["partial"] = dict(partial.most_common())
    if run.info.adopted_from is not None:
        facts["missing"] = run.info.cases.of - run.info.cases.count
        facts["repeated"] = run.info.repeated
    return run_facts(run) | facts | {"unmatched": run.info.unmatched, "cost": cost}


def _say_edit(run: Run, one: dict[str, Any], retry: str, cases: CaseSet | None) -> None:
    covered = f", {run.info.cases.count} of {run.info.cases.of} cases"
    say(f"{run.name}: {one['outputs']} outputs{covered}, {one['failed']} failed, in {run.path}")
    say_groups(one["reason_groups"])
    for words, count in list(one.get("partial", {}).items())[:_MOST_WORDS]:
        say(f"  of the outputs, {count:,} with {words}")
    _say_ledger(run)
    if one["failed"]:
        say(f"  {retry}")
    if one["cost"]:
        say(f"  the outputs cost ${one['cost']:,.2f}, as far as prices are known")
    if run.info.adopted_from is not None:
        _say_matched(run, one, cases)


def _say_matched(run: Run, one: dict[str, Any], cases: CaseSet | None) -> None:
    """What of the files or records belongs to no case, and how many cases have none."""
    from medebench.runs.adoption import naming_hint
    from medebench.runs.result_records import is_results

    results = is_results(Path(run.info.adopted_from or ""))
    if names := run.info.unmatched:
        hint = naming_hint(names[0], cases) if cases is not None and not results else ""
        told = f" (e.g. {names[0]}) and were ignored"
        noun = "records" if results else "files"
        say(f"  {len(names)} {noun} match no case{told}{'; ' if hint else ''}{hint}")
    if one["repeated"]:
        say(f"  {one['repeated']} records repeat an earlier one and count once")
    if results and one["missing"]:
        say(f"  {one['missing']} cases have no record; they are not part of the run")


def finish_score(runs: Sequence[Run], failures: Failures, as_json: bool) -> None:
    """Report the scores that were asked for; exit 1 if calls failed in this command."""
    from medebench.runs.ledger import WHOLE

    facts = []
    for run in runs:
        rows = [row for row in run.scores() if row.metric in failures.asked]
        sets = [row for row in run.set_scores() if row.metric in failures.asked]
        # An output is one, however many scores it lacks for the same reason.
        lacking = {((row.case_id, row.k), row.reason): row.reason for row in rows}
        without = [reason for reason in lacking.values() if reason is not None]
        scored = sum(row.value is not None for row in rows)
        facts.append(run_facts(run) | {"scored": scored, "of": len(rows)} | reason_facts(without))
        facts[-1] |= ledger_facts(run)
        if sets:
            facts[-1]["sets"] = [asdict(row) for row in sets]
        if not as_json:
            print_line(f"{run.name}: {scored} of {len(rows)} scores, in {run.path}")
            say_groups(facts[-1]["reason_groups"], print_line)
            _say_ledger(run)
            for one in sets:
                if one.part == WHOLE:
                    print_line(f"  {_in_words(one)}")
    if as_json:
        print_json({"runs": facts, "failures": dict(failures.most_common())})
    finish(failures, "call", " of a judge or a metric")


def ledger_facts(run: Run) -> dict[str, Any]:
    """Rows that were found damaged, and those that were written before rows had checksums."""
    with run.ledger() as ledger:
        unchecked = ledger.unchecked()
    return {"damaged": run.recovery.damaged if run.recovery else {}, "unchecked": unchecked}


def _say_ledger(run: Run) -> None:
    if run.recovery:
        say(f"  {run.recovery}")
    if unchecked := ledger_facts(run)["unchecked"]:
        say(f"  {unchecked:,} rows come from an earlier medebench without checksums: unchecked")


def outdated_facts(outdated: tuple[int, int] | None) -> dict[str, int]:
    scores, cases = outdated or (0, 0)
    return {"scores": scores, "cases": cases}


def finish_outdated(outdated: tuple[int, int] | None, runs: Sequence[Path]) -> None:
    """Say that scores are left out because their cases changed, and exit 1, if that is so."""
    from medebench.runs.case_state import outdated_words

    if outdated is not None:
        names = (shlex.quote(str(path)) for path in runs)
        raise fail(outdated_words(*outdated, names), 1)


def _in_words(row: SetRow) -> str:
    """ "kid_inception 0.012 (0.004 to 0.020), 63 outputs against 9 references"."""
    size = f"{row.n} outputs against {row.n_references} references"
    if row.value is None:
        return f"{row.metric}: {row.reason}"
    if left_out := row.detail.get("left_out"):
        reason, count = max(left_out.items(), key=lambda one: one[1])
        size += f", {sum(left_out.values())} left out ({count} x {reason})"
    if (floor := row.detail.get("floor")) is not None:
        size += f"; floor {floor:.4g}"
    if note := row.detail.get("note"):
        size += f"; {note}"
    between = f" ({row.interval[0]:.4g} to {row.interval[1]:.4g})" if row.interval else ""
    return f"{row.metric} {row.value:.4g}{between}, {size}"


def run_facts(run: Run) -> dict[str, Any]:
    return {"run": run.name, "path": str(run.path), "editor": run.info.editor}


def reason_facts(reasons: Sequence[str]) -> dict[str, Any]:
    """Every reason with its count, and the same put together."""
    count = Counter(reasons)
    groups = [asdict(one) for one in group_reasons(count.items())]
    return {"reasons": dict(count.most_common()), "reason_groups": groups}


def say_groups(groups: Iterable[dict[str, Any]], tell: Callable[[str], None] = say) -> None:
    """A line for each kind of reason, with the code that an export has for it."""
    for kind, some in groupby((ReasonGroup(**one) for one in groups), lambda one: one.kind):
        tell(f"  {kind}: {reasons_in_words(some)}")


def print_plan(plan: Plan, who: str, as_json: bool) -> None:
    """What asking would take."""
    if as_json:
        facts = {"calls": plan.calls, "cached": plan.cached, "cost": plan.cost, "most": plan.most}
        print_json(facts | {"tokens_in": plan.tokens_in, "tokens_out": plan.tokens_out})
        return
    print_line(f"{who}: {plan.calls} calls, {plan.cached} answers already cached")
    print_line(f"about {plan.tokens_in:,} tokens in, {plan.tokens_out:,} out")
    if plan.cost is None or plan.most is None:
        print_line("no known price for this model; set MEDEBENCH_PRICES to a price file")
    elif plan.calls and not plan.most:
        print_line(
            "your own server counts as free; for another price set MEDEBENCH_PRICES to a file"
        )
    else:
        print_line(f"about ${plan.cost:.2f}, at most ${plan.most:.2f} unless calls are retried")
