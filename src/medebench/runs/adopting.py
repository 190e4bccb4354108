"""`adopt`: take over pictures that exist already, as if an editor of ours had made them."""

from __future__ import annotations

import re
import time
from contextlib import closing
from pathlib import Path

from medebench.cases import CaseSet, load_cases, open_case
from medebench.cases.image import SUFFIXES, encode_png, read_file, read_picture
from medebench.errors import ImageError, InputError
from medebench.files import sha256, write_bytes
from medebench.parallel import in_parallel
from medebench.progress import Progress, silent
from medebench.runs.editing import cases_info
from medebench.runs.failed_calls import Failures
from medebench.runs.ledger import CaseRow, OutputRow
from medebench.runs.provenance import now, versions
from medebench.runs.run import Run, RunInfo, create_or_continue


def adopt(
    folder: str | Path,
    cases: str | Path | CaseSet,
    out: str | Path,
    *,
    name: str | None = None,
    control: bool = False,
    workers: int | None = None,
    progress: Progress = silent,
    failures: Failures | None = None,
) -> Run:
    """A run made of the files `<id>_<k>.png` (or `<id>.png`, k = 0) in `folder`.

    Cases without a file are not part of the run; `run.json` says how many of the set it covers.
    """
    folder = Path(folder).expanduser().absolute()
    found = load_cases(cases)
    files, unmatched = match_files(folder, found)
    covered = found.select(ids=[case.id for case in found if case.id in files])
    info = RunInfo(
        editor=name or folder.name,
        control=control,
        adopted_from=folder.name,
        unmatched=unmatched,
        outputs_per_case=max(max(ks) for ks in files.values()) + 1,
        cases=cases_info(covered, of=len(found)),
        created=now(),
        versions=versions(),
    )
    run = create_or_continue(out, info)

    def work(case_id: str) -> tuple[CaseRow, list[OutputRow]]:
        case = found[case_id]
        rows = [
            _take(run, case_id, k, path, known.get((case_id, k)))
            for k, path in sorted(files[case_id].items())
        ]
        try:
            source = open_case(case).source
        except ImageError:
            source = f"unreadable-{case_id}"
        return CaseRow.of(case, covered.hashes[case_id], source), rows

    with run.locked() as ledger:
        known = ledger.outputs()
        with closing(in_parallel(work, list(files), workers)) as results:
            for done, (case_row, rows) in enumerate(results, start=1):
                ledger.write(case_row, *rows)
                if failures is not None:
                    failures.note(rows)
                progress(done, len(files))
    return run


def match_files(folder: Path, cases: CaseSet) -> tuple[dict[str, dict[int, Path]], list[str]]:
    """By case id and k, the picture of that name; and the pictures named after no case."""
    if not folder.is_dir():
        raise InputError(f"{folder}: no such folder")
    files: dict[str, dict[int, Path]] = {}
    unmatched: list[str] = []
    for path in sorted(folder.iterdir()):
        if path.suffix.lower() not in SUFFIXES or path.name.startswith("."):
            continue
        case_id, k = path.stem, 0
        if case_id not in cases and (parts := re.fullmatch(r"(.+)_(\d{1,6})", path.stem)):
            case_id, k = parts[1], int(parts[2])
        if case_id not in cases:
            unmatched.append(path.name)
            continue
        if (other := files.setdefault(case_id, {}).setdefault(k, path)) != path:
            raise InputError(
                f"{folder}: {other.name} and {path.name} are the same output; keep one"
            )
    if not files:
        raise InputError(
            f"{folder}: no picture is named <id>_<k>.png or <id>.png after a case of {cases.name}"
        )
    return files, unmatched


def _take(run: Run, case_id: str, k: int, path: Path, known: OutputRow | None) -> OutputRow:
    start = time.perf_counter()
    try:
        data = read_file(path)
        original = sha256(data)
        if (
            known is not None
            and known.detail.get("original") == original
            and run.output_path(case_id, k).is_file()
        ):
            return known
        picture = read_picture(path, data)
        if path.suffix.lower() != ".png":
            data = encode_png(picture)
        write_bytes(run.output_path(case_id, k), data)
    except (ImageError, OSError) as error:
        # What an earlier adoption copied is not the output any more.
        run.output_path(case_id, k).unlink(missing_ok=True)
        return OutputRow(case_id, k, None, str(error), seconds=time.perf_counter() - start)
    detail = {"file": path.name, "original": original}
    return OutputRow(case_id, k, sha256(data), None, None, detail, time.perf_counter() - start)
