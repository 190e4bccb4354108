"""Outputs that exist already, copied to where those of our systems lie."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from medebench.errors import ImageError, one_line
from medebench.files import unwritable
from medebench.images.picture import read_file
from medebench.outputs import CODECS, Part, Stored
from medebench.reason import Reason
from medebench.runs.ledger import CaseRow, OutputRow
from medebench.runs.stages.output_stage import Found, OutputStage
from medebench.runs.visits import Opened, Target

#: By case id and k, what there is of each part: a file, the text itself, or why there is nothing.
AdoptedFiles = dict[str, dict[int, dict[Part, Path | str | Reason]]]


class AdoptedOutputs(OutputStage):
    """`files` by case and k; what was adopted before from the same file stays."""

    needs = ""

    def __init__(
        self,
        files: AdoptedFiles,
        known: Mapping[tuple[str, int], OutputRow],
    ) -> None:
        self._files, self._known = files, known

    def wants(self, target: Target, sha: str | None) -> list[str]:
        return ["output"]

    def do(self, opened: Opened, names: Sequence[str]) -> list[Found]:
        return [CaseRow.of_opened(opened.case, opened.target.now), self._take(opened.target)]

    def _take(self, target: Target) -> OutputRow:
        start, known = time.perf_counter(), self._known.get(target.place)
        given = self._files[target.case_id][target.k]
        found, without = _parts(given)

        def row(sha: str | None, why: Reason | None, **detail: Any) -> OutputRow:
            seconds = time.perf_counter() - start
            return OutputRow(*target.place, sha, why, None, detail, seconds)

        if not found:
            # What an earlier adoption copied is not the output any more.
            target.files.remove()
            return row(None, next(iter(without.values())))
        original = Stored({part: came for part, (came, _) in found.items()}).sha256
        same = known is not None and known.detail.get("original") == original
        if known is not None and same and target.files.are_there():
            return known
        taken = Stored({part: ours for part, (_, ours) in found.items()})
        try:
            target.files.write(taken)
        except OSError as error:
            # No fault of this output: the next ones would fail as well.
            raise unwritable(target.files.paths[0], error) from error
        paths = [given[part] for part in found]
        names = ", ".join(one.name for one in paths if isinstance(one, Path))
        detail: dict[str, Any] = {"file": names} if names else {}
        if without:
            detail["without"] = {part: str(why) for part, why in without.items()}
        return row(taken.sha256, None, **detail, original=original)


def _parts(
    given: Mapping[Part, Path | str | Reason],
) -> tuple[dict[Part, tuple[bytes, bytes]], dict[Part, Reason]]:
    """The bytes of each part as they came and as we keep them; and why others are not there."""
    found: dict[Part, tuple[bytes, bytes]] = {}
    without: dict[Part, Reason] = {}
    for part, one in given.items():
        if isinstance(one, Reason):
            without[part] = one
            continue
        try:
            came = read_file(one) if isinstance(one, Path) else one.encode()
            found[part] = came, _as_ours(part, one, came) if isinstance(one, Path) else came
        except ImageError as error:
            without[part] = Reason("unreadable", one_line(str(error)))
    return found, without


def _as_ours(part: Part, path: Path, data: bytes) -> bytes:
    """The bytes of a file that can be read; in another format than ours, written anew."""
    content = CODECS[part].decode(path, data)
    return data if path.suffix.lower() == CODECS[part].suffix else CODECS[part].encode(content)
