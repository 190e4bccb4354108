"""The pictures of the page, pack by pack; those an earlier report drew of the same bytes stay."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, TypeVar

from medebench.page.image_packs import Earlier, Pack, natural, place, split
from medebench.page.page_folder import Folder
from medebench.page.private_paths import without_folders
from medebench.page.web_images import key_of
from medebench.parallel import core_count_for, in_parallel
from medebench.progress import Progress
from medebench.reporting.case_artist import (
    Artist,
    CaseView,
    DiskOutput,
    Drawn,
    OutputView,
    Record,
    Work,
    gone,
    recall,
)
from medebench.reporting.case_card import Cards
from medebench.reporting.collect import Material
from medebench.reporting.overlay import Overlay, Place, plan_overlays
from medebench.reporting.run_findings import Found

View = TypeVar("View", CaseView, OutputView)


@dataclass(frozen=True)
class Views:
    cases: dict[str, CaseView]
    outputs: dict[Place, OutputView]
    #: Of the outputs that have any.
    overlays: dict[Place, tuple[Overlay, ...]]
    #: The keys of the cases as the gallery has them.
    order: tuple[str, ...]
    #: The packs in the same order; each but the last one holds `together` cases.
    packs: tuple[str, ...]
    together: int
    facts: dict[str, Any]

    def pack_of(self, key: str) -> str:
        return self.packs[self.order.index(key) // self.together]


def pack_views(
    material: Material,
    found: Sequence[Found],
    folder: Folder,
    workers: int | None,
    progress: Progress,
) -> Views:
    """Draw what is missing; `found` are the outputs whose overlays are wanted."""
    order = sorted(material.places, key=natural)
    groups = split(order, sum(len(entry.outputs) for entry in material.entries))
    packer = _Packer(folder)
    cases: dict[str, CaseView] = {}
    outputs: dict[Place, OutputView] = {}
    overlays: dict[Place, tuple[Overlay, ...]] = {}
    records: dict[str, Record] = {}
    names = [""] * len(groups)
    progress(0, len(order))
    try:
        work = _plan(material, found, groups)
        example = next((case.previous for case in material.cases.values()), None)
        threads = workers or core_count_for(example)
        for number, name, record, drawn in in_parallel(packer.pack, work, threads):
            names[number], records[name] = name, record
            for one in drawn:
                cases[one.key] = _clean(material, material.places[one.key][0], one.view)
                for (entry, k), output in one.outputs.items():
                    outputs[entry, one.key, k] = _clean(material, entry, output)
                overlays |= one.overlays
            progress(len(cases), len(order))
    except BaseException:
        # What is drawn is drawn: the next report takes it up.
        folder.remember(_facts(packer.records | records))
        raise
    return Views(
        {key: cases[key] for key in material.places},
        dict(sorted(outputs.items())),
        dict(sorted(overlays.items())),
        tuple(order),
        tuple(names),
        len(groups[0]) if groups else 1,
        _facts(records),
    )


def _clean(material: Material, entry: int, view: View) -> View:
    if not view.trouble:
        return view
    return replace(view, trouble=without_folders(material.entries[entry].run, view.trouble))


def _plan(
    material: Material, found: Sequence[Found], groups: Sequence[Sequence[str]]
) -> Iterator[tuple[int, list[Work]]]:
    overlays, cards = plan_overlays(material, found), Cards(material.task)
    outputs: dict[str, list[DiskOutput]] = {}
    for entry in material.entries:
        for (key, k), row in entry.outputs.items():
            files = entry.run.output_files(material.places[key][1], k)
            outputs.setdefault(key, []).append(DiskOutput(entry.index, k, row, files))
    for number, keys in enumerate(groups):
        yield (
            number,
            [
                Work(
                    key,
                    material.cases.get(key),
                    material.places[key][2],
                    cards,
                    tuple(outputs.get(key, ())),
                    tuple(overlays.get(key, ())),
                )
                for key in keys
            ],
        )


class _Packer:
    """Makes packs, from those of the earlier report as far as they go."""

    def __init__(self, folder: Folder) -> None:
        self.folder = folder
        self.records = _records(folder.facts)
        #: By digest of a case, the pack that holds it.
        self.holders = {
            digest: name for name, record in self.records.items() for digest in record.cases
        }

    def pack(self, numbered: tuple[int, list[Work]]) -> tuple[int, str, Record, list[Drawn]]:
        number, group = numbered
        works = [
            replace(w, outputs=tuple(o.seen(w.digest, w.cards.style) for o in w.outputs))
            for w in group
        ]
        name = key_of("pack", *(part for work in works for part in work.wants))
        record = self.records.get(name)
        if record and all(self.folder.has(place(kind, name)) for kind in record.kinds):
            drawn = [recall(work, record) for work in works]
            known = [one for one in drawn if one is not None]
            if len(known) == len(works):
                for kind in record.kinds:
                    self.folder.keep(place(kind, name))
                return number, name, record, known
        return number, name, *self._draw(name, works)

    def _draw(self, name: str, works: Sequence[Work]) -> tuple[Record, list[Drawn]]:
        earlier, record, drawn = Earlier(self.folder), Record(), []
        holder = ""
        pack = Pack(lambda kind, key: earlier.picture(kind, holder, key) if holder else None)
        for work in works:
            if work.case is None:
                drawn.append(gone(work))
                continue
            holder = self.holders.get(work.digest, "")
            known = self.records[holder] if holder else Record()
            drawn.append(Artist(work, pack, record, known).draw())
        kinds = pack.write(self.folder, name)
        return replace(record, kinds=kinds), drawn


def _facts(records: dict[str, Record]) -> dict[str, Any]:
    return {"cards": {name: vars(record) for name, record in sorted(records.items())}}


def _records(facts: dict[str, Any]) -> dict[str, Record]:
    """As the folder remembers them; a memory that cannot be understood is none."""
    try:
        return {name: Record(**found) for name, found in facts["cards"].items()}
    except (KeyError, TypeError, AttributeError):
        return {}
