"""One worker process: started, asked line by line, and ended with all it has started."""

from __future__ import annotations

import json
import logging
import os
import queue
import signal
import subprocess
import threading
import time
import weakref
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import IO, Any

from medebench.workers.descendants import end_all, marked
from medebench.workers.line_protocol import VERSION, parse
from medebench.workers.output_tail import Tail, gist, read_lines

#: A line on standard output may not be longer: it is no answer, and memory has an end.
LONGEST_LINE = 1 << 20
#: Seconds a worker has to end by itself once its input is closed.
FAREWELL = 3.0
#: Seconds between asking a process to end and making it.
GRACE = 2.0
#: Seconds for what has ended to be noticed everywhere.
_SETTLE = 1.0
_MOST_WAITING = 1000

_log = logging.getLogger("medebench.worker")


class Gone(Exception):
    """This worker can no longer be used; the text says why, `stderr` what it wrote last."""

    def __init__(self, reason: str, stderr: Sequence[str] = ()) -> None:
        super().__init__(reason)
        self.stderr = list(stderr)


class Ended(Exception):
    """We have ended the worker ourselves."""


class Worker:
    """A running process that reads and writes JSON lines. Asked by one thread at a time."""

    def __init__(
        self,
        command: Sequence[str],
        folder: Path | None = None,
        versions: Sequence[int] = (VERSION,),
    ) -> None:
        self._versions = versions
        mark, environment = marked(os.environ)
        try:
            self._process = subprocess.Popen(
                command,
                cwd=folder,
                env=environment,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                bufsize=0,
                # A group of its own, which can be ended as a whole, and which Ctrl-C leaves to us.
                start_new_session=True,
            )
        except OSError as error:
            raise Gone(f"{command[0]} cannot be started ({error.strerror or error})") from error
        self.ready: dict[str, Any] = {}
        self.pid = self._process.pid
        self._stderr, self._chatter = Tail(), Tail()
        self._inbox: queue.Queue[_Event] = queue.Queue()
        self._outbox: queue.SimpleQueue[bytes | None] = queue.SimpleQueue()
        self._ended = threading.Event()
        stdin, stdout, stderr = _pipes(self._process)
        self._reader = _thread(_hear, stdout, self._inbox, self._chatter)
        self._listener = _thread(_note, stderr, self._stderr)
        _thread(_tell, stdin, self._outbox, self._inbox)
        # Also when the interpreter ends, or nobody holds the worker any more.
        self._mark = mark
        self._finalizer = weakref.finalize(self, _end, self._process, self._outbox, mark, FAREWELL)

    def wait_until_ready(self, timeout: float) -> None:
        """Wait for the line that says so; Gone if it does not come."""
        self.ready = self._wait(lambda said: bool(said.get("ready")), timeout, "not ready", "")
        if self.version not in self._versions:
            known = " or ".join(map(str, self._versions))
            raise self._gone(f"it speaks version {self.version} of the protocol, not {known}")

    @property
    def version(self) -> Any:
        """The one it says it speaks."""
        return self.ready.get("medebench", VERSION)

    def ask(self, message: Mapping[str, Any], timeout: float) -> dict[str, Any]:
        """Send a request, and wait for the answer with its `id` and `k`."""
        wanted = (message["id"], message["k"])
        self._outbox.put(json.dumps(message).encode("ascii") + b"\n")
        return self._wait(
            lambda said: (said.get("id"), said.get("k", wanted[1])) == wanted,
            timeout,
            "no answer",
            f"case {wanted[0]} ({wanted[1]})",
        )

    @property
    def is_running(self) -> bool:
        return self._process.poll() is None

    def farewell(self) -> None:
        """Close the worker's input, which asks it to end."""
        self._ended.set()
        self._outbox.put(None)

    def end(self, patience: float = FAREWELL) -> None:
        """End it, and whatever it has started; returns when it is gone."""
        self._ended.set()
        if self._finalizer.detach() is not None:
            _end(self._process, self._outbox, self._mark, patience)

    def _wait(
        self, fits: Callable[[dict[str, Any]], bool], timeout: float, failed: str, about: str
    ) -> dict[str, Any]:
        # Until it is ready, all it ever said belongs to this: it may have died before we look.
        written, printed = (self._stderr.count, self._chatter.count) if about else (0, 0)
        deadline = time.monotonic() + timeout
        ignored: Any = None
        said: _Event | None
        while (left := deadline - time.monotonic()) > 0:
            try:
                said = self._inbox.get(timeout=min(left, 0.2))
            except queue.Empty:
                said = self._noticed_end()
            if said is None:
                continue
            if isinstance(said, str):
                raise self._lost(said, written)
            if fits(said):
                return said
            ignored = said.get("id")
            _log.info("worker %d: ignored what is no answer for %s: %r", self.pid, about, ignored)
        reason = f"{failed} in {timeout:g} s"
        if ignored is not None:
            reason += f" (it answered for {ignored!r})"
        elif told := gist(self._chatter.lines(printed), 1):
            reason += f" (on standard output: {told})"
        raise self._gone(reason, written)

    def _noticed_end(self) -> str | None:
        """A process that has ended while another still holds its output open."""
        if self._process.poll() is None:
            return None
        self._reader.join(_SETTLE)
        return None if not self._inbox.empty() else "ended"

    def _lost(self, how: str, written: int) -> Exception:
        if how == "flood":
            return self._gone(f"it wrote a line of more than {LONGEST_LINE:,} bytes", written)
        with suppress(subprocess.TimeoutExpired):
            self._process.wait(_SETTLE)
        code = self._process.returncode
        return self._gone(
            f"it closed its standard {how}" if code is None else f"it {exit_words(code)}", written
        )

    def _gone(self, reason: str, written: int = 0) -> Exception:
        if self._ended.is_set():
            return Ended()
        self.end(0)
        self._listener.join(_SETTLE)
        if last := gist(self._stderr.lines(written)):
            reason = f"{reason}: {last}"
        return Gone(reason, self._stderr.lines())


#: An answer, or in a word what came instead.
_Event = dict[str, Any] | str


def exit_words(code: int) -> str:
    if code >= 0:
        return f"ended with exit code {code}"
    try:
        name = signal.Signals(-code).name
    except ValueError:
        name = f"signal {-code}"
    return f"was ended by {name}" + (" (out of memory?)" if name == "SIGKILL" else "")


def _hear(pipe: IO[bytes], inbox: queue.Queue[_Event], chatter: Tail) -> None:
    """Answers go into the inbox; the rest is what libraries print."""
    with pipe:
        for line in read_lines(pipe, LONGEST_LINE):
            if line is None:
                inbox.put("flood")
                continue
            said = parse(line) if line.lstrip().startswith(b"{") else None
            if said is None or not ("id" in said or "ready" in said):
                chatter.add(line)
                _log.debug("worker: %r", line[:500])
            elif inbox.qsize() < _MOST_WAITING:
                inbox.put(said)
    inbox.put("output")


def _note(pipe: IO[bytes], tail: Tail) -> None:
    with pipe:
        for line in read_lines(pipe, LONGEST_LINE):
            if line is not None:
                tail.add(line)


def _tell(
    pipe: IO[bytes], outbox: queue.SimpleQueue[bytes | None], inbox: queue.Queue[_Event]
) -> None:
    """A thread of its own: a worker that does not read fills the pipe, and writing blocks."""
    try:
        with pipe:
            while (line := outbox.get()) is not None:
                while line:
                    line = line[pipe.write(line) :]
    except OSError:
        inbox.put("input")


def _thread(target: Callable[..., None], *given: Any) -> threading.Thread:
    thread = threading.Thread(target=target, args=given, daemon=True)
    thread.start()
    return thread


def _pipes(process: subprocess.Popen[bytes]) -> tuple[IO[bytes], IO[bytes], IO[bytes]]:
    assert process.stdin is not None and process.stdout is not None and process.stderr is not None
    return process.stdin, process.stdout, process.stderr


def _end(
    process: subprocess.Popen[bytes],
    outbox: queue.SimpleQueue[bytes | None],
    mark: str,
    patience: float,
) -> None:
    outbox.put(None)
    try:
        if not (patience and _ends(process, patience)):
            _signal(process, "SIGTERM")
            _ends(process, GRACE)
    finally:
        # The group may outlive its leader, and a child its group.
        _signal(process, "SIGKILL")
        end_all(mark)
        _ends(process, GRACE)


def _ends(process: subprocess.Popen[bytes], seconds: float) -> bool:
    try:
        process.wait(seconds)
    except subprocess.TimeoutExpired:
        return False
    return True


def _signal(process: subprocess.Popen[bytes], name: str) -> None:
    with suppress(OSError):
        if os.name == "posix":
            os.killpg(process.pid, getattr(signal, name))
        elif name == "SIGTERM":
            process.terminate()
        else:
            process.kill()
