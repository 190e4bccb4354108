"""A real PostgreSQL for a while. `python postgres.py` prints its URL and ends with its input.

Binaries are taken from the PATH or from Debian's folder; they refuse to run as root, so there they
run as "postgres" or "nobody".
"""

from __future__ import annotations

import os
import pwd
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

PASSWORD = "sEcret-pass:w/rd"


class NoPostgres(Exception):
    """There is none on this machine, or nobody to run it as."""


@contextmanager
def postgresql() -> Iterator[str]:
    """URL of an empty database on 127.0.0.1, which waits for the disk as in real use."""
    binaries, owner = _binaries(), _owner()
    folder = Path(tempfile.mkdtemp(prefix="medebench-postgres-"))
    try:
        if owner:
            shutil.chown(folder, owner["user"], owner["group"])
        (folder / "password").write_text(PASSWORD)
        if owner:
            shutil.chown(folder / "password", owner["user"], owner["group"])
        data = folder / "data"
        initdb: list[str | Path] = [binaries / "initdb", "-D", data, "-U", "study", "--no-sync"]
        initdb += ["-A", "scram-sha-256", "--pwfile", folder / "password"]
        initdb += ["--no-locale", "-E", "UTF8"]
        done = subprocess.run(initdb, capture_output=True, text=True, cwd="/", **owner)
        if done.returncode:
            raise NoPostgres(f"PostgreSQL could not be set up ({_last(done.stderr)})")
        with _running(binaries, data, folder / "log", owner) as port:
            from urllib.parse import quote

            yield f"postgresql://study:{quote(PASSWORD, safe='')}@127.0.0.1:{port}/postgres"
    finally:
        shutil.rmtree(folder, ignore_errors=True)


@contextmanager
def _running(binaries: Path, data: Path, log: Path, owner: dict[str, Any]) -> Iterator[int]:
    # Between asking for a free port and taking it, somebody else may.
    for _ in range(10):
        server, port = _started(binaries, data, log, owner)
        if _is_ready(server, port, log):
            break
        if b"in use" not in log.read_bytes():
            raise NoPostgres(f"PostgreSQL does not start ({_last(log.read_text('utf-8'))})")
    try:
        yield port
    finally:
        server.send_signal(signal.SIGQUIT)  # at once; nobody needs what is in it
        try:
            server.wait(60)
        except subprocess.TimeoutExpired:
            server.kill()
            server.wait()


def _started(
    binaries: Path, data: Path, log: Path, owner: dict[str, Any]
) -> tuple[subprocess.Popen[bytes], int]:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = int(free.getsockname()[1])
    settings = ["-c", "listen_addresses=127.0.0.1", "-c", "unix_socket_directories="]
    settings += ["-c", f"port={port}", "-c", "shared_buffers=32MB", "-c", "fsync=on"]
    call: list[str | Path] = [binaries / "postgres", "-D", data, *settings]
    with log.open("wb") as told:
        return subprocess.Popen(call, stdout=told, stderr=told, cwd="/", **owner), port


def _is_ready(server: subprocess.Popen[bytes], port: int, log: Path) -> bool:
    while server.poll() is None:
        if b"ready to accept connections" in log.read_bytes():
            with socket.create_connection(("127.0.0.1", port)):
                return True
        time.sleep(0.1)
    return False


def _last(text: str) -> str:
    return (text.strip().splitlines() or ["no word"])[-1][:200]


def _binaries() -> Path:
    if found := shutil.which("postgres"):
        return Path(found).resolve().parent
    folders = sorted(Path("/usr/lib/postgresql").glob("*/bin/postgres"))
    if not folders:
        raise NoPostgres("PostgreSQL is not installed (apt-get install postgresql)")
    return folders[-1].parent


def _owner() -> dict[str, Any]:
    if os.geteuid() != 0:
        return {}
    for name in ("postgres", "nobody"):
        try:
            found = pwd.getpwnam(name)
        except KeyError:
            continue
        return {"user": found.pw_uid, "group": found.pw_gid, "extra_groups": []}
    raise NoPostgres("PostgreSQL does not run as root (add a user named nobody or postgres)")


if __name__ == "__main__":
    try:
        with postgresql() as url:
            print(url, flush=True)
            sys.stdin.read()
    except NoPostgres as error:
        sys.exit(str(error))
