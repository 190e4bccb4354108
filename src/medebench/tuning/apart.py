"""Training pictures drawn in processes of their own: drawing holds the interpreter's lock."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

from medebench.errors import MedebenchError, one_line
from medebench.parallel import core_count, in_parallel
from medebench.progress import Progress


def draw_missing(
    count: int,
    chunk: int,
    file: Callable[[int], Path],
    draw: Callable[[int], None],
    progress: Progress,
) -> None:
    """Call `draw` with the start of each chunk whose file is not there yet, on all cores."""
    starts = range(0, count, chunk)
    missing = [start for start in starts if not file(start).is_file()]
    for done, _ in enumerate(in_parallel(draw, missing, core_count()), start=1):
        progress(len(starts) - len(missing) + done, len(starts))


def draw_apart(module: str, folder: Path, *numbers: int) -> None:
    """`draw_chunk(folder, *numbers)` of a module, in a process of its own."""
    code = (
        f"import sys; from pathlib import Path; from {module} import draw_chunk; "
        "draw_chunk(Path(sys.argv[1]), *map(int, sys.argv[2:]))"
    )
    call = [sys.executable, "-c", code, str(folder), *map(str, numbers)]
    done = subprocess.run(call, capture_output=True, text=True)
    if done.returncode:
        said = done.stderr.strip().rpartition("\n")[2]
        raise MedebenchError(f"drawing phantoms {numbers[0]}...: {one_line(said, 300)}")
