"""Files that appear whole or not at all, and the folders medebench keeps for itself."""

from __future__ import annotations

import errno
import hashlib
import json
import os
import shutil
import sqlite3
import stat
import uuid
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, BinaryIO

from medebench.errors import BusyError, InputError, MedebenchError

TEMPORARY = ".medebench-tmp-"
#: Bytes of the largest file that is read whole: more than the most pixels take uncompressed.
LARGEST = 1 << 31
_PIECE = 1 << 16


def read_bytes(path: Path, most: int = LARGEST) -> bytes:
    """The content of an ordinary file of at most so many bytes."""
    with open_file(path, most) as file:
        # By its size, for memory is set aside for all that is asked for; files of the kernel have
        # none, and others may grow meanwhile.
        data = file.read(os.fstat(file.fileno()).st_size + 1)
        # Some of the kernel's, like /proc/kmsg, wait for news as a pipe does.
        if data is None:
            raise OSError(errno.EINVAL, "nothing to read without waiting, not an ordinary file")
        while len(data) <= most and (more := file.read(_PIECE)):
            data += more
    if len(data) > most:
        raise _too_large(path, most)
    return data


@contextmanager
def open_file(path: Path, most: int = LARGEST, *, links: bool = True) -> Iterator[BinaryIO]:
    """An ordinary file, or one that a link leads to, for reading.

    Everything else is refused with an OSError, without waiting: a pipe may never be written to, a
    device like /dev/zero never ends. All files that may come from somebody else are opened here.
    """
    # Looked at before it is opened, which may already do something to a device, and after.
    _require_ordinary(path, path.stat(follow_symlinks=links).st_mode)
    how = os.O_RDONLY | _AT_ONCE | (0 if links else getattr(os, "O_NOFOLLOW", 0))
    with os.fdopen(os.open(path, how), "rb") as file:
        about = os.fstat(file.fileno())
        _require_ordinary(path, about.st_mode)
        if about.st_size > most:
            raise _too_large(path, most)
        yield file


#: A pipe that came in the place of the file is opened without waiting for its writer.
_AT_ONCE = getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0) | getattr(os, "O_CLOEXEC", 0)
_KINDS = {
    stat.S_IFDIR: "a folder",
    stat.S_IFIFO: "a pipe",
    stat.S_IFSOCK: "a socket",
    stat.S_IFCHR: "a device",
    stat.S_IFBLK: "a device",
    stat.S_IFLNK: "a link",
}


def disk_trouble(error: Exception, folder: Path) -> str | None:
    """What is wrong with the disk and what to do about it, if `error` comes from there.

    Of SQLite too: it says the same with numbers of its own, or only that something went wrong.
    """
    number = getattr(error, "errno", None)
    code = (getattr(error, "sqlite_errorcode", None) or 0) & 0xFF
    full = number in (errno.ENOSPC, errno.EDQUOT) or code == sqlite3.SQLITE_FULL
    vague = (sqlite3.SQLITE_IOERR, sqlite3.SQLITE_CANTOPEN, sqlite3.SQLITE_READONLY)
    if full or (code in vague and not _is_read_only(folder) and _is_full(folder)):
        return "the disk is full; free some space, then run again"
    if number == errno.EROFS or (code == sqlite3.SQLITE_READONLY and _is_read_only(folder)):
        return "the file system is read-only; choose another folder, or mount it for writing"
    return None


def unwritable(path: Path, error: OSError) -> MedebenchError:
    """The error for a file or folder that could not be written."""
    if trouble := disk_trouble(error, path.parent):
        return MedebenchError(f"{path}: {trouble}")
    return InputError(f"{path}: cannot be written ({error.strerror or error})")


def _is_full(folder: Path) -> bool:
    try:
        return shutil.disk_usage(folder).free < _A_PAGE
    except OSError:
        return False


def _is_read_only(folder: Path) -> bool:
    try:
        return bool(os.statvfs(folder).f_flag & os.ST_RDONLY)
    except (OSError, AttributeError):
        return False


#: Bytes without which a database cannot write anything.
_A_PAGE = 64 * 1024


def _too_large(path: Path, most: int) -> OSError:
    return OSError(errno.EFBIG, f"larger than {most:,} bytes", str(path))


def _require_ordinary(path: Path, mode: int) -> None:
    if not stat.S_ISREG(mode):
        kind = _KINDS.get(stat.S_IFMT(mode), "something else")
        raise OSError(errno.EINVAL, f"{kind}, not an ordinary file", str(path))


def write_bytes(path: Path, data: bytes) -> None:
    """Write through a temporary sibling and a rename: a killed process leaves no half file."""
    path.parent.mkdir(parents=True, exist_ok=True)
    temporary = _sibling(path)
    try:
        temporary.write_bytes(data)
        temporary.replace(path)
    except BaseException as error:
        with suppress(OSError):
            temporary.unlink()
        if isinstance(error, OSError):
            # The system names the temporary file, or none where the disk is full.
            error.filename, error.filename2 = str(path), None
        raise


def write_text(path: Path, text: str) -> None:
    write_bytes(path, text.encode("utf-8"))


def write_json(path: Path, value: Any) -> None:
    write_text(path, json.dumps(value, indent=2, ensure_ascii=False, allow_nan=False) + "\n")


@contextmanager
def whole_folder(target: Path) -> Iterator[Path]:
    """A scratch folder beside `target` that becomes `target` only if the block succeeds."""
    target.parent.mkdir(parents=True, exist_ok=True)
    _sweep_abandoned(target.parent)
    scratch = _sibling(target)
    try:
        scratch.mkdir()
        yield scratch
        if target.is_dir() and not any(target.iterdir()):
            target.rmdir()
        scratch.replace(target)
    except BaseException as error:
        shutil.rmtree(scratch, ignore_errors=True)
        _name_target(error, scratch, target)
        raise


def _name_target(error: BaseException, scratch: Path, target: Path) -> None:
    """Errors name the folder that the user asked for."""
    name = getattr(error, "filename", None)
    if isinstance(error, OSError) and isinstance(name, str):
        error.filename, error.filename2 = name.replace(str(scratch), str(target)), None


def sweep(folder: Path) -> None:
    """Remove what killed processes left half written in a folder that is ours alone."""
    for leftover in folder.glob(TEMPORARY + "*"):
        _remove(leftover)


def _sweep_abandoned(folder: Path) -> None:
    """The same in a shared folder: only what belongs to a process that is no more."""
    for leftover in folder.glob(TEMPORARY + "*"):
        owner = leftover.name.removeprefix(TEMPORARY).split("-")[0]
        if owner.isdecimal() and not _is_alive(int(owner)):
            _remove(leftover)


def _is_alive(process: int) -> bool:
    if os.name != "posix":
        return True
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    except OSError:
        return True
    return True


def _remove(path: Path) -> None:
    if path.is_dir():
        shutil.rmtree(path, ignore_errors=True)
    else:
        path.unlink(missing_ok=True)


@contextmanager
def alone(staging: Path, target: Path) -> Iterator[None]:
    """For one process at a time: two would take each other's files for leftovers."""
    from filelock import FileLock, Timeout

    staging.parent.mkdir(parents=True, exist_ok=True)
    try:
        with FileLock(f"{staging}.lock", timeout=0) as lock:
            try:
                yield
            finally:
                with suppress(OSError):
                    Path(lock.lock_file).unlink()
    except Timeout:
        raise BusyError(f"{target}: another medebench is writing it; wait for it") from None


def sha256(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


def cache_folder() -> Path:
    """`$MEDEBENCH_CACHE`, else the platform's cache folder."""
    if given := os.environ.get("MEDEBENCH_CACHE"):
        return Path(given)
    base = os.environ.get("XDG_CACHE_HOME") or os.environ.get("LOCALAPPDATA")
    return (Path(base) if base else Path.home() / ".cache") / "medebench"


def _sibling(path: Path) -> Path:
    return path.with_name(f"{TEMPORARY}{os.getpid()}-{uuid.uuid4().hex[:12]}")
