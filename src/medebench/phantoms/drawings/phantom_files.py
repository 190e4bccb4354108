"""Write phantoms as a set of cases, drawn in processes: the renderer holds the interpreter's lock.

Plain child processes that speak lines, not `multiprocessing`: its children import the caller's main
module again, which breaks every script without a main guard. A child whose parent was killed reads
the end of its input and goes."""

from __future__ import annotations

import json
import subprocess
import sys
import threading
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

from medebench.errors import MedebenchError
from medebench.phantoms.case_folder import DrawCase, Entry, save_images, write_case_folder
from medebench.phantoms.drawings.phantom_renderer import render, sample, sample_unseen
from medebench.phantoms.drawings.phantom_spec import VERSION, PhantomSpec
from medebench.phantoms.drawings.unseen_tasks import UNSEEN_VERSION

_ROLES = ("previous_image", "changed_image", "previous_mask")
_CHILD = (
    "import sys; from pathlib import Path; "
    "from medebench.phantoms.drawings.phantom_files import serve; "
    "serve(Path(sys.argv[1]), int(sys.argv[2]), sys.stdin, sys.stdout, sys.argv[3])"
)


class _Set(NamedTuple):
    sample: Callable[[int, int], PhantomSpec]
    #: What a case says of itself, besides index and seed.
    facts: dict[str, Any]


_PHANTOMS, _UNSEEN = "phantoms", "unseen-phantoms"
_SETS: Mapping[str, _Set] = {
    _PHANTOMS: _Set(sample, {"version": VERSION}),
    _UNSEEN: _Set(sample_unseen, {"version": UNSEEN_VERSION, "set": _UNSEEN}),
}


def write_case(root: Path, index: int, seed: int, of: str = _PHANTOMS) -> Entry:
    """Render one case into the folder and return its metadata entry."""
    case = render(_SETS[of].sample(index, seed))
    number = index + 1
    images = dict(zip(_ROLES, (case.previous, case.reference, case.roi), strict=True))
    return {
        "id": number,
        "Organ": case.spec.organ,
        "Task": case.spec.task,
        "prompt": case.prompt,
        "rephrased_prompt": case.rephrased_prompt,
        "detailed_prompt": case.description,
        **save_images(root, number, images),
        "url": "",
        "key_concept": case.key_concept,
        "modality": case.modality,
        "kind": case.kind,
        "phantom": {"index": index, "seed": seed, **_SETS[of].facts},
    }


def write_phantoms(
    out: Path,
    count: int = 130,
    seed: int = 0,
    *,
    progress: Callable[[int], None] | None = None,
    workers: int | None = None,
    of: str = _PHANTOMS,
) -> Path:
    """Write ``count`` cases to ``out``; ``progress`` receives the number finished so far."""

    def start(root: Path, threads: int) -> Drawers:
        return Drawers(root, seed, processes=threads > 1, of=of)

    return write_case_folder(Path(out), count, _ROLES, start, progress, workers)


write_unseen_phantoms = partial(write_phantoms, of=_UNSEEN)


def serve(root: Path, seed: int, requests: Any, replies: Any, of: str = _PHANTOMS) -> None:
    """Draw the case of every number that comes in; one JSON line each goes out."""
    for line in requests:
        try:
            reply = write_case(root, int(line), seed, of)
        except OSError as error:
            where = str(error.filename or root)
            reply = {"errno": error.errno, "error": error.strerror, "file": where}
        replies.write(json.dumps(reply) + "\n")
        replies.flush()


class Drawers(AbstractContextManager[DrawCase]):
    """One child process for each thread that calls `draw`, or none at all."""

    def __init__(self, root: Path, seed: int, *, processes: bool, of: str = _PHANTOMS) -> None:
        self._root, self._seed, self._processes, self._of = root, seed, processes, of
        self._own = threading.local()
        self._children: list[subprocess.Popen[str]] = []

    def __enter__(self) -> DrawCase:
        return self.draw

    def __exit__(self, *_: object) -> None:
        for child in self._children:
            child.kill()
            child.communicate()

    def draw(self, index: int) -> Entry:
        if not self._processes:
            return write_case(self._root, index, self._seed, self._of)
        child = self._child()
        assert child.stdin is not None and child.stdout is not None
        try:
            child.stdin.write(f"{index}\n")
            child.stdin.flush()
            line = child.stdout.readline()
        except (BrokenPipeError, ValueError):
            line = ""
        if not line:
            raise MedebenchError(f"phantom {index + 1}: the process that draws it died")
        reply: Entry = json.loads(line)
        if "error" in reply:
            raise OSError(reply["errno"], reply["error"], reply["file"])
        return reply

    def _child(self) -> subprocess.Popen[str]:
        if not hasattr(self._own, "child"):
            # Of its own session: Ctrl-C is for us, and we end the children.
            self._own.child = subprocess.Popen(
                [sys.executable, "-c", _CHILD, str(self._root), str(self._seed), self._of],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
                text=True,
                encoding="utf-8",
                start_new_session=True,
            )
            self._children.append(self._own.child)
        child: subprocess.Popen[str] = self._own.child
        return child
