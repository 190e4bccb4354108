"""Findings about single files and about a pair: readable, of one size, different, plain."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from medebench.audit.audit_finding import Finding, distinct, examples, tally
from medebench.audit.audited_case import MASKS, Seen
from medebench.audit.file_facts import FileFacts
from medebench.tasks.medgen_tasks import medgen_task

PLAIN_MODES = ("RGB", "L", "1", "RGBA", "LA", "I;16", "I;16B", "I;16L", "I")

_FLAWS = ("missing-file", "unreadable-image", "truncated-image", "oversized-image")

_Files = list[tuple[str, str, FileFacts]]


def picture_findings(seen: Sequence[Seen]) -> Iterator[Finding]:
    files = [(one.case.id, role, facts) for one in seen for role, facts in one.files.items()]
    yield from flaw_findings(files)
    yield from _absent(seen)
    yield from _pairs(seen)
    sound = [entry for entry in files if entry[2].flaw is None]
    if personal := [entry for entry in sound if entry[2].personal]:
        kinds = tally(kind for _, _, facts in personal for kind in facts.personal)
        ids = distinct(case_id for case_id, _, _ in personal)
        yield Finding("personal-metadata", ids, kinds)
    yield from _notes(sound)


def flaw_findings(files: _Files) -> Iterator[Finding]:
    for code in _FLAWS:
        found = [
            (case_id, role, facts.flaw)
            for case_id, role, facts in files
            if facts.flaw is not None and facts.flaw.code == code
        ]
        if found:
            lines = (f"case {case_id}, {role}: {flaw.message}" for case_id, role, flaw in found)
            yield Finding(code, distinct(case_id for case_id, _, _ in found), examples(lines))


def _absent(seen: Sequence[Seen]) -> Iterator[Finding]:
    for role in ("reference", "roi"):
        if ids := tuple(one.case.id for one in seen if not _has(one, role)):
            yield Finding(f"no-{role}", ids, f"{len(ids):,} of {len(seen):,} cases")


def _has(one: Seen, role: str) -> bool:
    """A reference may be a text; where no image is given or comes out, there is no region in it."""
    if role in one.files:
        return True
    if (known := medgen_task(one.case)) is not None:
        # Of its questions no image comes out, and few of its other tasks name a region.
        return role == "roi" or known.format == "vqa"
    return bool(one.case.answer if role == "reference" else one.case.previous is None)


def _pairs(seen: Sequence[Seen]) -> Iterator[Finding]:
    sizes, same = [], []
    for one in seen:
        previous, reference = one.sound("previous"), one.sound("reference")
        if previous is None or reference is None:
            continue
        if previous.size != reference.size and one.case.grid == "previous":
            sizes.append((one.case.id, previous.size, reference.size))
        elif previous.pixels == reference.pixels:
            same.append(one.case.id)
    if sizes:
        lines = (
            f"case {case_id}: reference is {after[0]} x {after[1]}, image {before[0]} x {before[1]}"
            for case_id, before, after in sizes
        )
        ids = tuple(case_id for case_id, _, _ in sizes)
        yield Finding("reference-size", ids, examples(lines))
    if same:
        of = f"{len(same):,} of {len(seen):,} cases: doing nothing is a perfect edit there"
        yield Finding("reference-unchanged", tuple(same), of)


def _notes(sound: _Files) -> Iterator[Finding]:
    pictures = [entry for entry in sound if entry[1] not in MASKS]
    checks: tuple[tuple[str, _Files, Callable[[FileFacts], bool]], ...] = (
        ("transparency", sound, lambda facts: facts.transparent),
        ("sixteen-bit", pictures, lambda facts: facts.sixteen_bit),
        ("colour-mode", pictures, lambda facts: facts.mode not in PLAIN_MODES),
        ("exif-rotation", sound, lambda facts: facts.rotated),
        ("several-frames", sound, lambda facts: facts.frames > 1),
    )
    for code, files, wrong in checks:
        if hit := [entry for entry in files if wrong(entry[2])]:
            lines = (f"case {case_id}, {role}: {_kind(facts)}" for case_id, role, facts in hit)
            yield Finding(code, distinct(case_id for case_id, _, _ in hit), examples(lines))


def _kind(facts: FileFacts) -> str:
    return f"{facts.format} {facts.mode} {facts.size[0]} x {facts.size[1]}"
