"""Findings about single files and about a pair: readable, of one size, different, plain."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from medebench.audit.audit_finding import Finding, distinct, examples, tally
from medebench.audit.audited_case import MASKS, Seen
from medebench.audit.file_facts import FileFacts

PLAIN_MODES = ("RGB", "L", "1", "RGBA", "LA", "I;16", "I;16B", "I;16L", "I")

_FLAWS = {
    "missing-file": ("a file that is not there", "restore it or remove the case"),
    "unreadable-image": ("a file that cannot be read as an image", "save it as PNG"),
    "truncated-image": ("a damaged or truncated image", "fetch or save it again"),
    "oversized-image": (
        "an image with too many pixels",
        "make it smaller or raise MEDEBENCH_MAX_PIXELS",
    ),
}

_Files = list[tuple[str, str, FileFacts]]


def picture_findings(seen: Sequence[Seen]) -> Iterator[Finding]:
    files = [(one.case.id, role, facts) for one in seen for role, facts in one.files.items()]
    yield from flaw_findings(files)
    yield from _absent(seen)
    yield from _pairs(seen)
    sound = [entry for entry in files if entry[2].flaw is None]
    if personal := [entry for entry in sound if entry[2].personal]:
        yield Finding(
            "warning",
            "personal-metadata",
            "metadata that may identify a person, a place or a device",
            distinct(case_id for case_id, _, _ in personal),
            tally(kind for _, _, facts in personal for kind in facts.personal),
            "strip it before the set is shared: --fix writes a copy without metadata",
        )
    yield from _notes(sound)


def flaw_findings(files: _Files) -> Iterator[Finding]:
    for code, (title, remedy) in _FLAWS.items():
        found = [
            (case_id, role, facts.flaw)
            for case_id, role, facts in files
            if facts.flaw is not None and facts.flaw.code == code
        ]
        if found:
            yield Finding(
                "error",
                code,
                title,
                distinct(case_id for case_id, _, _ in found),
                examples(
                    f"case {case_id}, {role}: {flaw.message}" for case_id, role, flaw in found
                ),
                remedy,
            )


def _absent(seen: Sequence[Seen]) -> Iterator[Finding]:
    lacking = {"reference": "no reference image", "roi": "no ROI mask"}
    remedies = {
        "reference": "add one to have scores against a reference",
        "roi": "add one to have preservation and grounding measured",
    }
    for role, title in lacking.items():
        if ids := tuple(one.case.id for one in seen if not _has(one, role)):
            detail = f"{len(ids):,} of {len(seen):,} cases"
            yield Finding("note", f"no-{role}", title, ids, detail, remedies[role])


def _has(one: Seen, role: str) -> bool:
    """A reference may be a text; where no image is given, there is no region in it."""
    other = one.case.answer if role == "reference" else one.case.previous is None
    return role in one.files or bool(other)


def _pairs(seen: Sequence[Seen]) -> Iterator[Finding]:
    sizes, same = [], []
    for one in seen:
        previous, reference = one.sound("previous"), one.sound("reference")
        if previous is None or reference is None:
            continue
        if previous.size != reference.size:
            sizes.append((one.case.id, previous.size, reference.size))
        elif previous.pixels == reference.pixels:
            same.append(one.case.id)
    if sizes:
        yield Finding(
            "warning",
            "reference-size",
            "reference of a different size from its image",
            tuple(case_id for case_id, _, _ in sizes),
            examples(
                f"case {case_id}: reference is {after[0]} x {after[1]}, "
                f"image {before[0]} x {before[1]}"
                for case_id, before, after in sizes
            ),
            "bring it to the size of the image; it is resized (bicubic) for every comparison",
        )
    if same:
        # Not an error: it can be read and scored, and "nothing to do" can be meant as a control.
        yield Finding(
            "warning",
            "reference-unchanged",
            "the reference is the image itself, pixel by pixel",
            tuple(same),
            f"{len(same):,} of {len(seen):,} cases: doing nothing is a perfect edit there",
            "put the right reference in place, or remove the cases unless no change is intended",
        )


def _notes(sound: _Files) -> Iterator[Finding]:
    pictures = [entry for entry in sound if entry[1] not in MASKS]
    checks: tuple[tuple[str, str, str, _Files, Callable[[FileFacts], bool]], ...] = (
        (
            "transparency",
            "transparent pixels",
            "alpha is dropped, and the colours below show; flatten it if that is not intended",
            sound,
            lambda facts: facts.transparent,
        ),
        (
            "sixteen-bit",
            "more than 8 bits a pixel",
            "read in full; give the number in use as 'bits'",
            pictures,
            lambda facts: facts.sixteen_bit,
        ),
        (
            "colour-mode",
            "colours that are not stored as RGB or grey",
            "converted to RGB without its colour profile",
            pictures,
            lambda facts: facts.mode not in PLAIN_MODES,
        ),
        (
            "exif-rotation",
            "stored sideways, with a rotation in its EXIF data",
            "read upright; programs that ignore EXIF see it rotated",
            sound,
            lambda facts: facts.rotated,
        ),
        (
            "several-frames",
            "several frames or pages in one file",
            "only the first is read",
            sound,
            lambda facts: facts.frames > 1,
        ),
    )
    for code, title, remedy, files, wrong in checks:
        if hit := [entry for entry in files if wrong(entry[2])]:
            yield Finding(
                "note",
                code,
                title,
                distinct(case_id for case_id, _, _ in hit),
                examples(f"case {case_id}, {role}: {_kind(facts)}" for case_id, role, facts in hit),
                remedy,
            )


def _kind(facts: FileFacts) -> str:
    return f"{facts.format} {facts.mode} {facts.size[0]} x {facts.size[1]}"
