"""What all commands share: one line for an error, a progress bar for people, JSON for machines.

Whatever a command prints goes through here, and comes out without what a terminal would obey: a
reason, a name or an answer may be anybody's words.
"""

from __future__ import annotations

import functools
import json
import logging
import math
import os
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated, Any, ParamSpec, TypeVar

import typer

from medebench.errors import MedebenchError, NotReadyError, one_line
from medebench.plaintext import clean, escaped

#: Between two lines in a log.
LOG_SECONDS = 60.0
#: Of what is printed: more is nobody's message.
LONGEST_LINE = 4000

P = ParamSpec("P")
R = TypeVar("R")

Json = Annotated[bool, typer.Option("--json", help="Print one JSON object for machines.")]
Workers = Annotated[
    int | None, typer.Option(min=1, max=512, help="Threads; default: all cores.", metavar="N")
]
Executor = Annotated[
    str,
    typer.Option(
        help="threads, or processes, each with its own interpreter; same results.", metavar="NAME"
    ),
]
Without = Annotated[
    list[str] | None,
    typer.Option(
        "--without",
        help="Leave out cases with this finding of `medebench cases check`, such as "
        "other-photograph; may be repeated.",
        metavar="FINDING",
    ),
]
RetryFailed = Annotated[
    bool, typer.Option("--retry-failed", help="Also retry items that failed before.")
]


def debugging() -> bool:
    return bool(os.environ.get("MEDEBENCH_DEBUG"))


def guarded(function: Callable[P, R]) -> Callable[P, R]:
    """A mistake becomes one line and an exit code; `--debug` shows the traceback as well."""

    @functools.wraps(function)
    def wrapper(*args: P.args, **kwargs: P.kwargs) -> R:
        try:
            return function(*args, **kwargs)
        except NotReadyError as error:
            if debugging():
                raise
            *others, last = str(error).splitlines()
            for line in others:
                fail(line, error.exit_code)
            raise fail(last, error.exit_code) from None
        except MedebenchError as error:
            if debugging():
                raise
            raise fail(str(error), error.exit_code) from None
        except KeyboardInterrupt:
            raise fail("stopped; run the same command again to continue", 130) from None
        except BrokenPipeError:
            # The reader (head, less) has seen enough.
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
            raise typer.Exit(0) from None
        except OSError as error:
            if debugging():
                raise
            raise fail(_of_files(error), 1) from None
        except (typer.Exit, typer.Abort):
            raise
        except Exception as error:
            if debugging():
                raise
            what = f"{type(error).__name__}: {error}".splitlines()[0]
            raise fail(f"unexpected {what} (--debug shows where; please report it)", 1) from None

    return wrapper


def _of_files(error: OSError) -> str:
    from medebench.files import disk_trouble

    named = isinstance(error.filename, str)
    where = f"{error.filename}: " if named else ""
    folder = Path(error.filename).parent if named else Path.cwd()
    return where + (disk_trouble(error, folder) or error.strerror or str(error))


def fail(message: str, code: int) -> typer.Exit:
    typer.echo(one_line(f"medebench: {message}", LONGEST_LINE), err=True)
    return typer.Exit(code)


def say(message: str) -> None:
    """A line for people; on stderr, so that stdout stays a result."""
    typer.echo(readable(message), err=True)


def print_line(message: str) -> None:
    """A line of the result, on stdout."""
    typer.echo(readable(message))


def print_json(value: Any) -> None:
    typer.echo(escaped(json.dumps(value, indent=2, ensure_ascii=False, allow_nan=False)))


def readable(text: str) -> str:
    """`text` as a terminal may have it, its lines of bearable length."""
    lines = clean(text).split("\n")
    return "\n".join(one if len(one) <= LONGEST_LINE else one[:LONGEST_LINE] + "…" for one in lines)


def log_readably() -> None:
    """Warnings, of Python and of all loggers, as Python would print them, but readable."""

    class Readable(logging.Formatter):
        def format(self, record: logging.LogRecord) -> str:
            return readable(super().format(record))

    handler = logging.StreamHandler()
    handler.setLevel(logging.WARNING)
    handler.setFormatter(Readable())
    logging.getLogger().addHandler(handler)
    logging.captureWarnings(True)


def is_terminal() -> bool:
    return sys.stderr.isatty()


@contextmanager
def progress_bar(title: str) -> Iterator[Callable[[int, int], None]]:
    """A callback (done, total): a bar on a terminal, elsewhere a line now and then."""
    if not is_terminal():
        yield _told_now_and_then(title)
        return
    from rich.console import Console
    from rich.progress import (
        BarColumn,
        MofNCompleteColumn,
        Progress,
        TaskProgressColumn,
        TextColumn,
        TimeRemainingColumn,
    )

    columns = (
        TextColumn("{task.description}", markup=False),
        BarColumn(),
        TaskProgressColumn(),
        MofNCompleteColumn(),
        TimeRemainingColumn(elapsed_when_finished=True),
    )
    # What stays on the screen is the end. A single output may take minutes: the speed is that of
    # the last hour.
    with Progress(*columns, console=Console(stderr=True), speed_estimate_period=3600) as bar:
        task = bar.add_task(one_line(title), total=None, visible=False)
        before = 0, 0

        def tell(done: int, total: int) -> None:
            nonlocal before
            if done < before[0] or (done == 0 and total != before[1]):
                # Another part of the work begins, at a speed of its own.
                bar.reset(task, total=total)
            before = done, total
            # Nothing to do needs no bar.
            bar.update(task, completed=done, total=total, visible=total > 0)

        yield tell


def _told_now_and_then(title: str) -> Callable[[int, int], None]:
    """Nothing for what is done soon: a log is for what takes long, and then says when it ends."""
    begun = last = time.monotonic()
    first, told = 0, False

    def tell(done: int, total: int) -> None:
        nonlocal begun, last, first, told
        now = time.monotonic()
        if done < first or done == 0:
            begun, first = now, done
        at_its_end = told and done == total
        if now - last >= LOG_SECONDS or at_its_end:
            last, told = now, not at_its_end
            left = (now - begun) * (total - done) / (done - first) if done > first else 0
            say(f"{title}: {done} of {total}{time_left(left)}")

    return tell


def time_left(seconds: float) -> str:
    """
    >>> time_left(0), time_left(40), time_left(150), time_left(7300)
    ('', ', less than a minute left', ', about 3 minutes left', ', about 2 h 2 min left')
    """
    if seconds <= 0:
        return ""
    if seconds < 60:
        return ", less than a minute left"
    minutes = math.ceil(seconds / 60)
    if minutes < 90:
        return f", about {minutes} minute{'' if minutes == 1 else 's'} left"
    return f", about {minutes // 60} h {minutes % 60} min left"


def print_table(table: Any) -> None:
    """A rich table, as wide as it needs to be where the output is not a terminal."""
    from rich.console import Console

    # Names in square brackets are names.
    plain: dict[str, Any] = {"markup": False, "emoji": False, "highlight": False}
    if not sys.stdout.isatty():
        plain |= {"width": 400, "no_color": True}
    Console(**plain).print(_Readable(table))


class _Readable:
    """Something of rich's, without what foreign text in it would do to a terminal."""

    def __init__(self, inner: Any) -> None:
        self._inner = inner

    def __rich_console__(self, console: Any, options: Any) -> Iterator[Any]:
        from rich.segment import Segment

        for one in console.render(self._inner, options):
            yield one if one.control else Segment(clean(one.text), one.style)


def table_width() -> int | None:
    """Columns of the terminal; None where the output goes into a file or a pipe."""
    from rich.console import Console

    return Console().width if sys.stdout.isatty() else None
