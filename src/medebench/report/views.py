"""Which pictures the page needs, and drawing those that are not there yet, on all cores."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from medebench.cases import Case, OpenCase, open_case
from medebench.cases.image import read_file, read_picture
from medebench.errors import MedebenchError
from medebench.files import sha256
from medebench.parallel import in_parallel
from medebench.progress import Progress
from medebench.report.collect import Material, without_folders
from medebench.report.folder import Folder
from medebench.report.pictures import Names, key_of, write_change, write_outline, write_views
from medebench.runs.ledger import OutputRow

REPLACED = "the file was replaced after it was scored; score the run again"


@dataclass(frozen=True)
class CaseView:
    """What the page shows of a case; a key is empty where there is no picture."""

    previous: str = ""
    reference: str = ""
    outline: str = ""
    width: int = 0
    height: int = 0
    #: Share of the frame inside the ROI.
    share: float | None = None
    #: Why a picture could not be shown, if so.
    trouble: str = ""


@dataclass(frozen=True)
class OutputView:
    key: str = ""
    #: Its own size, which may differ from the case's.
    width: int = 0
    height: int = 0
    trouble: str = ""


@dataclass(frozen=True)
class _Output:
    entry: int
    k: int
    row: OutputRow
    path: Path


@dataclass(frozen=True)
class _Work:
    key: str
    case: Case | None
    digest: str
    outputs: tuple[_Output, ...]


@dataclass(frozen=True)
class Views:
    cases: dict[str, CaseView]
    #: (entry, case key, k)
    outputs: dict[tuple[int, str, int], OutputView]
    facts: dict[str, Any]


def draw_views(
    material: Material, folder: Folder, workers: int | None, progress: Progress
) -> Views:
    """Draw what is missing; a picture that an earlier report drew of the same bytes stays."""
    work = list(_plan(material))
    cases: dict[str, CaseView] = {}
    outputs: dict[tuple[int, str, int], OutputView] = {}
    facts: dict[str, Any] = {}
    progress(0, len(work))
    results = in_parallel(lambda one: (one.key, *_Drawing(folder, one).run()), work, workers)
    for done, (key, view, found, learned) in enumerate(results, start=1):
        run = material.entries[material.places[key][0]].run
        cases[key] = replace(view, trouble=without_folders(run, view.trouble))
        for (entry, k), output in found.items():
            trouble = without_folders(material.entries[entry].run, output.trouble)
            outputs[entry, key, k] = replace(output, trouble=trouble)
        facts |= learned
        for picture in (view.previous, view.reference):
            if picture:
                folder.keep(Names(picture).small)
                folder.keep(Names(picture).large)
        if view.outline:
            folder.keep(Names(view.outline).outline)
        for output in found.values():
            if output.key:
                for name in (Names(output.key).small, Names(output.key).large):
                    folder.keep(name)
                folder.keep(Names(output.key).change)
        progress(done, len(work))
    return Views(
        {key: cases[key] for key in material.places},
        dict(sorted(outputs.items())),
        dict(sorted(facts.items())),
    )


def _plan(material: Material) -> Iterator[_Work]:
    by_case: dict[str, list[_Output]] = {}
    for entry in material.entries:
        for (key, k), row in entry.outputs.items():
            path = entry.run.output_path(material.places[key][1], k)
            by_case.setdefault(key, []).append(_Output(entry.index, k, row, path))
    for key, (_, _, digest) in material.places.items():
        yield _Work(key, material.cases.get(key), digest, tuple(by_case.get(key, ())))


class _Drawing:
    """One case with all of its outputs; the case is opened only if something must be drawn."""

    def __init__(self, folder: Folder, work: _Work) -> None:
        self.folder, self.work = folder, work
        self.facts: dict[str, Any] = {}
        self._opened: OpenCase | None = None

    def run(self) -> tuple[CaseView, dict[tuple[int, int], OutputView], dict[str, Any]]:
        if self.work.case is None:
            view = CaseView(trouble="the case is no longer in its set")
        else:
            view = self._case(self.work.case)
        outputs = {(one.entry, one.k): self._output(one) for one in self.work.outputs}
        return view, outputs, self.facts

    def _open(self) -> OpenCase:
        assert self.work.case is not None
        self._opened = self._opened or open_case(self.work.case)
        return self._opened

    def _case(self, case: Case) -> CaseView:
        digest = self.work.digest
        troubles: list[str] = []
        size: tuple[int, int] = (0, 0)
        share: float | None = None
        keys = {"previous": "", "reference": "", "outline": ""}
        try:
            keys["previous"] = self._picture("previous", key_of("previous", digest))
            size, share = self._measure(digest)
            if case.reference is not None:
                keys["reference"] = self._picture("reference", key_of("reference", digest))
            if case.roi is not None:
                key = key_of("outline", digest)
                if not self.folder.has(Names(key).outline):
                    write_outline(self.folder.path, key, self._open().roi)
                keys["outline"] = key
        except MedebenchError as error:
            text = str(error)
            for role, path in case.files().items():
                text = text.replace(str(path), f"the {role} picture")
            troubles.append(text)
        return CaseView(
            **keys, width=size[0], height=size[1], share=share, trouble="".join(troubles)
        )

    def _picture(self, role: str, key: str) -> str:
        names = Names(key)
        if not (self.folder.has(names.small) and self.folder.has(names.large)):
            case = self._open()
            picture = case.previous if role == "previous" else case.reference
            write_views(self.folder.path, key, picture, case.data_range)
        return key

    def _measure(self, digest: str) -> tuple[tuple[int, int], float | None]:
        """Size and ROI share, remembered by the folder as long as the case is the same."""
        known = self.folder.facts.get(digest)
        if not (isinstance(known, list) and len(known) == 3):
            case = self._open()
            height, width = case.previous.shape[:2]
            share = None if case.case.roi is None else round(float(case.roi.mean()), 5)
            known = [width, height, share]
        self.facts[digest] = known
        return (int(known[0]), int(known[1])), known[2]

    def _output(self, one: _Output) -> OutputView:
        path = one.path
        if one.row.sha256 is None:
            return OutputView(trouble=f"no output: {one.row.reason}")
        try:
            data = read_file(path)
            found = sha256(data)
            key = key_of("output", self.work.digest, found)
            names = Names(key)
            files = (names.small, names.large, names.change)
            known = self.folder.facts.get(key)
            if self.work.case is None:
                return OutputView(trouble="the case is no longer in its set")
            if not (
                isinstance(known, list) and len(known) == 2 and all(map(self.folder.has, files))
            ):
                raw = read_picture(path, data)
                known = [raw.shape[1], raw.shape[0]]
                case = self._open()
                picture = case.fit(raw)
                write_views(self.folder.path, key, picture, case.data_range)
                write_change(self.folder.path, key, case, picture)
            self.facts[key] = known
        except MedebenchError as error:
            # The page may be published: say what is wrong, not where on whose disk.
            return OutputView(trouble=str(error).replace(f"{path}: ", ""))
        return OutputView(key, known[0], known[1], REPLACED if found != one.row.sha256 else "")
