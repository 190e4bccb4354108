"""Outputs that exist already, copied to where those of our systems lie."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from pathlib import Path

from medebench.errors import ImageError, one_line
from medebench.files import unwritable
from medebench.images.picture import read_file
from medebench.outputs import CODECS, Part, Stored
from medebench.reason import Reason
from medebench.runs.ledger import CaseRow, OutputRow
from medebench.runs.stages.output_stage import Found, OutputStage
from medebench.runs.visits import Opened, Target

#: By case id and k, the file of each part of an output.
AdoptedFiles = dict[str, dict[int, dict[Part, Path]]]


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
        paths = self._files[target.case_id][target.k]

        def row(sha: str | None, why: Reason | None, **detail: str) -> OutputRow:
            seconds = time.perf_counter() - start
            return OutputRow(*target.place, sha, why, None, detail, seconds)

        try:
            found = Stored({part: read_file(path) for part, path in paths.items()})
            same = known is not None and known.detail.get("original") == found.sha256
            if known is not None and same and target.files.are_there():
                return known
            taken = Stored({part: _as_ours(part, paths[part], found.data[part]) for part in paths})
            target.files.write(taken)
        except ImageError as error:
            # What an earlier adoption copied is not the output any more.
            target.files.remove()
            return row(None, Reason("unreadable", one_line(str(error))))
        except OSError as error:
            # No fault of this output: the next ones would fail as well.
            raise unwritable(target.files.paths[0], error) from error
        names = ", ".join(path.name for path in paths.values())
        return row(taken.sha256, None, file=names, original=found.sha256)


def _as_ours(part: Part, path: Path, data: bytes) -> bytes:
    """The bytes of a file that can be read; in another format than ours, written anew."""
    content = CODECS[part].decode(path, data)
    return data if path.suffix.lower() == CODECS[part].suffix else CODECS[part].encode(content)
