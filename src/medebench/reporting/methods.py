"""What a reader needs to trust and to repeat the numbers."""

from __future__ import annotations

import shlex
from dataclasses import dataclass

from medebench.analysis import reliability
from medebench.encoders.encoder_lookup import ENCODERS
from medebench.judge.score_names import judge_of
from medebench.page.number import listed
from medebench.page.private_paths import without_folders
from medebench.page.score_columns import Score
from medebench.reporting.collect import Entry, Material
from medebench.reporting.diagnosis import Diagnosis
from medebench.reporting.headline_table import HeadlineTable
from medebench.reporting.scale_runs import is_scale
from medebench.reporting.set_tables import brief, set_scores
from medebench.reporting.steering import not_blind, of_one_family
from medebench.runs.case_state import outdated_words
from medebench.settings import in_words


@dataclass(frozen=True)
class RunFacts:
    name: str
    editor: str
    settings: str
    cases: str
    fingerprint: str
    date: str
    versions: str
    outputs: int
    failed: int
    #: "editing $4.56, judging $1.23", or nothing where all was free.
    cost: str = ""


def run_facts(material: Material) -> list[RunFacts]:
    return [_facts(entry, material.editing) for entry in material.entries]


def _facts(entry: Entry, editing: bool) -> RunFacts:
    info = entry.run.info
    settings = in_words(dict(sorted(info.settings.items())))
    if is_scale(entry.run):
        settings = "made for scale by the report"
    elif info.adopted_from is not None:
        settings = f"adopted from {info.adopted_from}"
    elif info.outputs_per_case > 1:
        settings = f"{settings}, {info.outputs_per_case} outputs a case".lstrip(", ")
    return RunFacts(
        entry.name,
        without_folders(entry.run, info.editor),
        without_folders(entry.run, settings),
        f"{info.cases.name}, {entry.extent}",
        info.cases.fingerprint[:12],
        info.created[:10],
        ", ".join(f"{name} {version}" for name, version in info.versions.items()),
        sum(row.sha256 is not None for row in entry.outputs.values()),
        sum(row.sha256 is None for row in entry.outputs.values()),
        _cost(entry, editing),
    )


def _cost(entry: Entry, editing: bool) -> str:
    making = "editing" if editing else "making outputs"
    costs = {making: dollars(entry.editing_cost), "judging": dollars(entry.cost)}
    return ", ".join(f"{what} {amount}" for what, amount in costs.items() if amount)


def dollars(amount: float) -> str:
    if amount <= 0:
        return ""
    return "less than $0.01" if amount < 0.005 else f"${amount:,.2f}"


def warnings_of(material: Material) -> list[str]:
    """What makes the runs less comparable than they look, or their scores less sure."""
    found = [out_of_date(material, *material.outdated)] if material.outdated else []
    if material.without is not None:
        found.insert(0, f"Over {material.without.told()}.")
    if not material.same_cases:
        parts: dict[str, list[str]] = {}
        for entry in material.entries:
            parts.setdefault(f"{entry.extent} of {entry.run.info.cases.name}", []).append(
                entry.name
            )
        texts = "; ".join(f"{listed(names)}: {extent}" for extent, names in parts.items())
        found.append(
            f"The runs were made on different cases. {texts}. "
            "Comparisons are made only over shared cases."
        )
    if material.clashes:
        found.append(
            f"Under {len(material.clashes)} case ids the runs hold different content, for example "
            f"“{material.clashes[0]}”; those are treated as different cases."
        )
    found.extend(not_blind(material.entries, material.scores))
    found.extend(of_one_family(material.entries, material.scores))
    for metric, names in material.judges.items():
        if len(names) > 1:
            who = "; ".join(f"{judge}: {listed(runs)}" for judge, runs in names.items())
            found.append(
                f"{metric} comes from different judges; do not compare between them: {who}."
            )
    for metric, variants in material.variants.items():
        if len(variants) > 1:
            who = "; ".join(f"{brief(one)}: {listed(runs)}" for one, runs in variants.items())
            found.append(
                f"{metric} was computed with different weights; do not compare between them: {who}."
            )
    gone = [key for key in material.places if key not in material.cases]
    if gone:
        found.append(
            f"{len(gone)} cases are no longer in their set and are shown without pictures."
        )
    old = {entry.name: entry.unchecked for entry in material.entries if entry.unchecked}
    if old:
        rows = ", ".join(f"{name} {count:,}" for name, count in old.items())
        found.append(
            "Rows that an earlier medebench wrote without checksums, so that damage to them would "
            f"not show: {rows}."
        )
    lost = [
        f"{name} {asked - given:,} of {asked:,}"
        for name, (given, asked) in material.delivered.items()
        if given < asked
    ]
    if lost:
        nothing = "count as doing nothing" if material.editing else "count at their worst"
        counts = nothing if material.basis == "asked" else "are left out of means"
        found.append(f"Outputs that were not delivered, which {counts}: {', '.join(lost)}.")
    unfinished = [
        f"{entry.name} {entry.extent}"
        for entry in material.entries
        if len(entry.cases - entry.absent) < entry.run.info.cases.count
    ]
    if unfinished:
        found.append(f"Unfinished runs: {', '.join(unfinished)}.")
    return found


def out_of_date(material: Material, scores: int, cases: int) -> str:
    """That scores are left out because cases or outputs changed, in which runs, and what to do."""
    names = [f"runs/{entry.name}" for entry in material.entries if entry.outdated]
    return f"{outdated_words(scores, cases, map(shlex.quote, names))}.".replace("`", "")


def judges(material: Material) -> list[tuple[str, str, bool]]:
    """(judge and version, its scores, whether it is a stand-in)."""
    found: dict[tuple[str, bool], list[str]] = {}
    for score in material.scores:
        if score.judge:
            found.setdefault((score.judge, score.stand_in), []).append(score.name)
    return [(judge, ", ".join(names), stand_in) for (judge, stand_in), names in found.items()]


def repeats(material: Material) -> list[str]:
    """How far a judge that was asked several times agrees with itself."""
    found = []
    for score in material.scores:
        one = reliability(material.repeats.get(score.name, []))
        if one is None:
            continue
        text = (
            f"{score.label} ({judge_of(score.name)}): {one.values:,} judgements of "
            f"{one.outputs:,} output{'' if one.outputs == 1 else 's'}; the repeats of an output "
            f"have a standard deviation of {one.sd:.3f} on average, their mean a standard error of "
            f"{one.se:.3f}"
        )
        text += (
            "; ICC(1,1) is undefined" if one.icc is None else f"; ICC(1,1) {score.text(one.icc)}"
        )
        found.append(f"{text}.")
    return found


def reproduce(material: Material, table: HeadlineTable, diagnosis: Diagnosis | None = None) -> str:
    """The command lines that lead from the runs to this page."""
    own_runs = [entry for entry in material.entries if not is_scale(entry.run)]
    names = " ".join(shlex.quote(f"runs/{entry.name}") for entry in own_runs)
    own = [_asked_for(score) for score in [*material.scores, *set_scores(material)]]
    metrics = shlex.quote(",".join(filter(None, own)))
    lines = [f"medebench score {names} --metrics {metrics}"] if any(own) else []
    for judge, times in {(judge_of(s.name), s.repeats) for s in material.scores if s.judge}:
        name, _, rubric = judge.partition("+")
        asked = f" --rubric {shlex.quote(rubric)}" if rubric else ""
        asked += f" --repeats {times}" if times > 1 else ""
        lines.append(f"medebench score {names} --judge {shlex.quote(name)}{asked}")
    lines.sort()
    if diagnosis is not None:
        # Where runs were grounded in different ways, the text above says how each was.
        sets = {one.given for one in diagnosis.found}
        given = sets.pop() if len(sets) == 1 else ()
        limits = "".join(f" --threshold {name}={value:g}" for name, value in given)
        lines.append(f"medebench ground {names}{limits}")
    lead = "" if table.headline == "cp" or not material.editing else f" --headline {table.headline}"
    codes = material.without.left_out if material.without else ()
    lead += "".join(f" --without {code}" for code in codes)
    return "\n".join([*lines, f"medebench report {names}{lead} --out report"])


def _asked_for(score: Score) -> str:
    """The name under which `score` finds a metric; nothing for what a judge gives."""
    if score.judge:
        return ""
    # A model in a folder is named after the folder, and only found where that lies.
    at_home = score.encoder and score.encoder not in ENCODERS and "/" not in score.encoder
    return f"{score.family}:path/to/{score.encoder}" if at_home else score.name
