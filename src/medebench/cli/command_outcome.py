"""How edit, adopt and score end: counts, the commonest reasons, the exit code."""

from __future__ import annotations

import shlex
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from medebench.cli.console import fail, print_json, print_line, say

#: How the reasons of `medebench.runs.visits` begin where a picture is lost that was made;
#: one that was never made ("no output") failed in the command that was to make it.
LOST = (
    "the output file is missing",
    "unreadable output",
    "the case has changed",
)

if TYPE_CHECKING:
    from medebench.models import Plan
    from medebench.runs import Run
    from medebench.runs.failed_calls import Failures
    from medebench.runs.ledger import SetRow


def finish(failures: Failures, noun: str, of: str = "") -> None:
    """Exit 1 if calls failed in this command, with the commonest reason in the last line."""
    if failures:
        raise fail(failures.in_words(noun, of), 1)


def finish_edit(run: Run, failures: Failures, as_json: bool) -> None:
    """Report the outputs of a run; exit 1 if some failed in this command."""
    with run.ledger() as ledger:
        rows = list(ledger.outputs().values())
        cost = ledger.editing_cost()
    reasons = _count(row.reason for row in rows)
    made, failed = len(rows) - sum(reasons.values()), sum(reasons.values())
    if as_json:
        facts = run_facts(run) | {"outputs": made, "failed": failed, "reasons": reasons}
        print_json(facts | {"unmatched": run.info.unmatched, "cost": cost})
    else:
        covered = f", {run.info.cases.count} of {run.info.cases.of} cases"
        say(f"{run.name}: {made} outputs{covered}, {failed} failed, in {run.path}")
        say_reasons(reasons)
        _say_ledger(run)
        if failed:
            say("  --retry-failed retries them")
        if cost:
            say(f"  the outputs cost ${cost:,.2f}, as far as prices are known")
        if names := run.info.unmatched:
            say(f"  {len(names)} files match no case (e.g. {names[0]}) and were ignored")
    finish(failures, "output")


def finish_score(runs: Sequence[Run], failures: Failures, as_json: bool) -> None:
    """Report the scores of runs; exit 1 if calls failed in this command, or a picture is lost."""
    from medebench.runs.ledger import WHOLE

    facts, broken = [], 0
    for run in runs:
        rows = [(row.value, row.reason, row.output) for row in run.scores()]
        sets = run.set_scores()
        reasons = _count(reason for _, reason, _ in rows)
        broken += sum(is_broken(reason) for _, reason, _ in rows)
        broken += sum(int(row.detail.get("missing", 0)) for row in sets if row.part == WHOLE)
        scored = sum(value is not None for value, _, _ in rows)
        facts.append(run_facts(run) | {"scored": scored, "of": len(rows), "reasons": reasons})
        facts[-1] |= ledger_facts(run)
        if sets:
            facts[-1]["sets"] = [asdict(row) for row in sets]
        if not as_json:
            say(f"{run.name}: {scored} of {len(rows)} scores, in {run.path}")
            say_reasons(reasons)
            _say_ledger(run)
            for row in sets:
                if row.part == WHOLE:
                    say(f"  {_in_words(row)}")
    if as_json:
        print_json({"runs": facts, "failures": dict(failures.most_common())})
    finish(failures, "call", " of a judge or a metric")
    if broken:
        raise typer.Exit(1)


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


def is_broken(reason: str | None) -> bool:
    """Whether a picture is lost or damaged; an undefined score of a good one is no failure."""
    return reason is not None and reason.startswith(LOST)


def run_facts(run: Run) -> dict[str, Any]:
    return {"run": run.name, "path": str(run.path), "editor": run.info.editor}


def _count(reasons: Iterable[str | None]) -> dict[str, int]:
    return dict(Counter(reason for reason in reasons if reason is not None).most_common())


def say_reasons(reasons: dict[str, int], most: int = 3) -> None:
    for reason, count in list(reasons.items())[:most]:
        say(f"  {count} x {reason}")
    if len(reasons) > most:
        say(f"  ... and {len(reasons) - most} other reasons; --json lists them")


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
