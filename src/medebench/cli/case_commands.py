"""`cases make|get|check|show`: sets of cases, drawn, downloaded, audited and looked at."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from medebench.cli.console import Json, Workers, guarded, print_json, print_line, progress_bar, say
from medebench.errors import InputError

if TYPE_CHECKING:
    from medebench.audit import Audit
    from medebench.cases import CaseSet


@guarded
def make(
    kind: Annotated[str, typer.Argument(help="phantoms, chest-phantoms or medgen-phantoms.")],
    out: Annotated[Path, typer.Option(help="Folder to write; must not exist yet.")],
    count: Annotated[int, typer.Option(min=1, max=100_000, help="How many cases.")] = 130,
    seed: Annotated[int, typer.Option(min=0, help="Same seed, same pixels.")] = 0,
    workers: Workers = None,
    as_json: Json = False,
) -> None:
    """Draw phantoms: medical-looking cases in the layout of the MedEBench release.

    Those of MedGEN-Bench are a plain folder with a table; load them with --task medgen.

    Examples:

        medebench cases make phantoms --count 130 --seed 0 --out phantoms

        medebench cases make chest-phantoms --count 64 --out chests

        medebench cases make medgen-phantoms --count 192 --out medgen
    """
    from medebench.cases.drawn_set import DrawnSet
    from medebench.cases.load import CASE_SETS
    from medebench.files import unwritable, whole_folder
    from medebench.stamp import read_stamp, write_stamp

    drawn = CASE_SETS.find(kind)
    if not isinstance(drawn, DrawnSet):
        raise InputError(f"case set '{kind}': is not drawn by code; use it directly")
    out = out.expanduser().absolute()
    made_from = {"kind": kind, "count": count, "seed": seed, "version": drawn.version}
    complete = read_stamp(out, made_from) is not None
    if not complete:
        try:
            with whole_folder(out) as folder, progress_bar(f"drawing {kind}") as progress:
                drawn.draw(folder, drawn.Settings(count=count, seed=seed), progress, workers)
                write_stamp(folder, made_from)
        except OSError as error:
            raise unwritable(out, error) from error
    if as_json:
        print_json({"out": str(out), "count": count, "seed": seed, "already_complete": complete})
    else:
        say(f"{'already complete: ' if complete else ''}{count} {kind} in {out}")


@guarded
def get(
    name: Annotated[str, typer.Argument(help="medebench, medgen, or hub:owner/name.")],
    out: Annotated[Path, typer.Option(help="Folder to write; must not exist yet.")],
    revision: Annotated[str, typer.Option(help="Branch, tag or commit.")] = "main",
    parts: Annotated[
        str, typer.Option(help="Formats of medgen: vqa, editing, generation; all by default.")
    ] = "",
    layout: Annotated[
        str | None, typer.Option(help="Of medgen: parquet or jsonl, where there are both.")
    ] = None,
    as_json: Json = False,
) -> None:
    """Download a published set of cases from the Hugging Face hub.

    Interrupted, the same command continues.

    Examples:

        medebench cases get medebench --out MedEBench

        medebench cases get medgen --parts vqa --out MedGEN-VQA
    """
    from medebench.cases.hub_layouts import Choice
    from medebench.cases.hub_sets import get_cases, is_complete

    place, chosen = out.expanduser().absolute(), [part for part in parts.split(",") if part.strip()]
    complete = is_complete(name, place, revision, Choice.read(chosen, layout))
    with progress_bar(f"fetching {name}") as progress:
        cases = get_cases(
            name,
            place,
            revision=revision,
            parts=chosen,
            layout=layout,
            progress=progress,
            tell=say,
        )
    if as_json:
        facts = {"cases": len(cases), "problems": len(cases.problems), "already_complete": complete}
        print_json({"out": str(cases.root)} | facts)
    else:
        before = "already complete: " if complete else ""
        audited = f"`medebench cases check {out}` audits them"
        say(f"{before}{len(cases)} cases in {cases.root}; {audited}")


@guarded
def check(
    cases: Annotated[str, typer.Argument(help="A folder, a file of records or a built-in set.")],
    fix: Annotated[
        bool, typer.Option("--fix", help="Also write a repaired copy to --out.")
    ] = False,
    out: Annotated[Path | None, typer.Option(help="Where the repaired copy goes.")] = None,
    workers: Workers = None,
    as_json: Json = False,
) -> None:
    """Audit a set of cases: every file is read once, every flaw gets a remedy.

    Exits with 0 if there are at most warnings, with 1 if there are errors.

    Examples:

        medebench cases check MedEBench

        medebench cases check MedEBench --fix --out MedEBench-fixed
    """
    from medebench.audit import check_cases

    if fix != (out is not None):
        raise InputError("--fix and --out go together: --fix --out FOLDER")
    result = check_cases(cases, fixed=out, workers=workers, bar=progress_bar)
    if as_json:
        print_json(result.to_json())
    else:
        _print(result)
        if result.fix is not None:
            say(result.fix.summary())
            for one in result.fix.left_out[:20]:
                say(f"  left out: case {one.case}: {one.reason}")
    raise typer.Exit(result.exit_code)


def _ids(cases: tuple[str, ...], most: int = 24) -> str:
    more = ", ... (--json lists all)" if len(cases) > most else ""
    return ", ".join(cases[:most]) + more


def _number(cases: tuple[str, ...]) -> str:
    return f"{len(cases):,} case{'' if len(cases) == 1 else 's'}"


def _print(result: Audit) -> None:
    marks = {"error": "error  ", "warning": "warning", "note": "note   "}
    for finding in result.findings:
        print_line(f"{marks[finding.severity]}  {finding.title}: {finding.detail}")
        print_line(f"         {finding.code}, {_number(finding.cases)}: {_ids(finding.cases)}")
        print_line(f"         effect: {finding.kind.effect}")
        print_line(f"         remedy: {finding.remedy}")
    print_line(
        f"{result.name}: {result.cases} cases, {result.files} files; "
        f"{result.errors} errors, {result.warnings} warnings, {result.notes} notes"
    )


@guarded
def show(
    cases: Annotated[str, typer.Argument(help="A folder, a file of records or a built-in set.")],
    case_id: Annotated[str | None, typer.Argument(help="One case; without it, a summary.")] = None,
    out: Annotated[
        Path | None,
        typer.Option(help="Also write images as PNG: of one case, or a contact sheet of many."),
    ] = None,
    finding: Annotated[
        str | None, typer.Option(help="Only cases with this finding of the audit.")
    ] = None,
    count: Annotated[
        int, typer.Option(min=1, max=10_000, help="Cases on contact sheets; 24 fit on one.")
    ] = 24,
    workers: Workers = None,
    as_json: Json = False,
) -> None:
    """Look at a set of cases, or at one case.

    Examples:

        medebench cases show phantoms

        medebench cases show phantoms 7 --out case7.png

        medebench cases show MedEBench --finding other-photograph --out sheet.png
    """
    from medebench.cases import load_cases
    from medebench.cases.case_view import describe_case, describe_set, strip
    from medebench.files import write_bytes

    if case_id is not None and finding is not None:
        raise InputError("--finding chooses among many cases; leave out the id")
    with progress_bar("reading cases") as progress:
        found = load_cases(cases, progress=progress)
    if finding is not None:
        found = _with_finding(found, finding, workers)
    facts = describe_set(found) if case_id is None else describe_case(found[case_id])
    if out is not None and case_id is not None:
        write_bytes(out.expanduser().absolute(), strip(found[case_id]))
        say(f"image in {out}")
    elif out is not None and len(found):
        _write_sheets(found, out, count, workers)
    if as_json:
        return print_json(facts | ({} if finding is None else {"ids": [one.id for one in found]}))
    for name, value in facts.items():
        if isinstance(value, dict):
            value = ", ".join(f"{key} {count}" for key, count in value.items())
        print_line(f"{name + ':':18} {value}")
    if finding is not None:
        print_line(f"{finding + ':':18} {_ids(tuple(one.id for one in found))}")
    return None


def _with_finding(cases: CaseSet, code: str, workers: int | None) -> CaseSet:
    from medebench.audit import cases_with, known_audit
    from medebench.audit.without_findings import checked
    from medebench.tasks import find_task

    groups = find_task(cases.task).groups
    checked(code, groups)
    with progress_bar("checking") as progress:
        audit = known_audit(cases, workers=workers, progress=progress)
    return cases.select(ids=cases_with(audit.findings, code, groups))


def _write_sheets(cases: CaseSet, out: Path, count: int, workers: int | None) -> None:
    from medebench.audit.contact_sheet import write_sheets

    if out.suffix.lower() != ".png":
        raise InputError(f"{out}: contact sheets are PNG files; name one that ends in .png")
    with progress_bar("drawing cases") as progress:
        place = out.expanduser().absolute()
        sheets = write_sheets(cases.cases[:count], place, workers=workers, progress=progress)
    files = f" to {sheets[-1].name}" if len(sheets) > 1 else ""
    say(f"{min(count, len(cases))} of {len(cases)} cases on {out}{files}")
