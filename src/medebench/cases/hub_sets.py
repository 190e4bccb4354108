"""`get_cases`: a published set from the Hugging Face hub, whole and verified or not at all."""

from __future__ import annotations

import hashlib
import json
import logging
import os
import re
import shutil
import threading
import time
from collections.abc import Callable, Mapping
from concurrent.futures import FIRST_COMPLETED, ThreadPoolExecutor, wait
from dataclasses import dataclass
from pathlib import Path, PureWindowsPath
from typing import Any
from urllib.parse import quote

from medebench.bounded_body import Damaged, Gathering, TooMuch
from medebench.cases.caseset import CaseSet
from medebench.cases.load import load_cases
from medebench.cases.readers.medebench_release import METADATA
from medebench.errors import InputError, MedebenchError
from medebench.files import alone, read_bytes, sha256, write_bytes, write_json

KNOWN = {"medebench": "LIUMinghao/MedEBench"}
SOURCE = "medebench-source.json"
WORKERS = 8
PASSING = {408, 429, *range(500, 600)}
#: The first question is tiny and its time-out counts once per address of the hub, of which there
#: are four or so: a machine without network is told so within about 20 seconds.
REACH_TIMEOUT, LIST_TIMEOUT, FILE_TIMEOUT = 5.0, 60.0, 10.0
#: Seconds between the tries for one file, and the longest wait the hub may ask for: it counts
#: requests over five minutes, and all of MedEBench can be too many for one such window.
PAUSES, LONGEST_WAIT = (1.0, 2.0), 310
#: Seconds for one answer, however slow the line, and bytes for one that states no size: the listing
#: of MedEBench has 4 MB.
LONGEST_ANSWER, LARGEST_LISTING, REDIRECTS = 900.0, 30_000_000, 5

Progress = Callable[[int, int], None]


def get_cases(
    name: str, out: Path, *, revision: str = "main", progress: Progress | None = None
) -> CaseSet:
    """Fetch the set `name` (`medebench` or `hub:owner/name`) into the new folder `out`.

    Files gather in a hidden folder beside `out`, which becomes `out` when all of them are there and
    have the size and hash the hub states; after an interruption the next call goes on from it.
    `progress(done, total)` counts files.
    """
    repo = _repo(name)
    out = Path(os.path.realpath(Path(out).expanduser()))
    if out.exists() and (not out.is_dir() or any(out.iterdir())):
        if not is_complete(name, out, revision):
            raise InputError(f"{out}: is already there and not empty; choose another folder")
        return load_cases(out, strict=False)
    offline = os.environ.get("HF_HUB_OFFLINE") or os.environ.get("TRANSFORMERS_OFFLINE") or ""
    if offline.upper() in ("1", "ON", "YES", "TRUE"):
        raise InputError(f"{repo} is not fetched: HF_HUB_OFFLINE is set; unset it and run again")
    from huggingface_hub.utils import logging as chatter

    staging = out.with_name(f".{out.name}.partial")
    level = chatter.get_verbosity()
    chatter.set_verbosity(logging.ERROR)  # its hints would break our progress bar
    try:
        hub = _Hub(repo, revision, staging)
        files = hub.files()
        with alone(staging, out):
            _gather(files, hub, staging, progress or (lambda done, total: None))
            source = {"repo": repo, "revision": hub.commit, "asked": revision, "files": len(files)}
            write_json(staging / SOURCE, source | {"bytes": sum(file.size for file in files)})
            if out.is_dir():
                out.rmdir()
            staging.replace(out)
    except OSError as error:
        reason = error.strerror or type(error).__name__
        raise MedebenchError(f"{error.filename or staging}: cannot be written: {reason}") from error
    finally:
        chatter.set_verbosity(level)
    return load_cases(out, strict=False)


def is_complete(name: str, out: Path, revision: str = "main") -> bool:
    """Whether the same call has filled this folder, and nothing is missing."""
    repo = _repo(name)
    try:
        source = json.loads(read_bytes(out / SOURCE))
        found = [path for path in out.rglob("*") if path.is_file() and path.name != SOURCE]
        whole = [len(found), sum(path.stat().st_size for path in found)]
        asked = (source.get("asked", "main"), source["revision"])
        same = source["repo"] == repo and revision in asked
        return bool(same and [source["files"], source["bytes"]] == whole)
    except (OSError, ValueError, LookupError, TypeError, AttributeError):
        return False


@dataclass(frozen=True)
class _File:
    """What the hub states: large files have a SHA-256, for the others git's own hash counts."""

    name: str
    size: int
    sha256: str
    blob: str

    @classmethod
    def stated(cls, entry: Any) -> _File:
        large = entry.get("lfs") or {}
        name, size, blob = entry["rfilename"], entry.get("size") or 0, entry.get("blobId") or ""
        return cls(str(name), int(size), str(large.get("sha256", "")), str(blob))

    def fits(self, data: bytes) -> bool:
        blob = hashlib.sha1(b"blob %d\0" % len(data) + data, usedforsecurity=False)
        same = sha256(data) == self.sha256 if self.sha256 else blob.hexdigest() == self.blob
        return same and len(data) == self.size


@dataclass(frozen=True)
class _Answer:
    status_code: int
    headers: Mapping[str, str]
    content: bytes


class _Hub:
    """One dataset repository at one commit.

    It is asked by our own client and not by the library's downloader, which asks twice per file
    (the hub's limit counts that), whose retries can neither be bounded nor stopped, and which takes
    whatever is sent.
    """

    def __init__(self, repo: str, revision: str, staging: Path) -> None:
        self.repo, self.revision, self.staging = repo, revision, staging
        self.endpoint = (os.environ.get("HF_ENDPOINT") or "https://huggingface.co").rstrip("/")
        # An address may carry a password, which no message shall show.
        self.label = re.sub(r"^https?://([^/]*@)?", "", self.endpoint) + f"/datasets/{repo}"
        self.stop, self.resume_at, self.lock = threading.Event(), 0.0, threading.Lock()
        self.client = _new_client()
        self.commit = str(self._facts(revision, REACH_TIMEOUT, "expand=sha", "sha"))

    def files(self) -> list[_File]:
        """The cases and the texts about them, without outputs of models."""
        found = self._facts(self.commit, LIST_TIMEOUT, "blobs=true", "siblings")
        try:
            entries = {file.name: file for file in map(_File.stated, found)}
        except (LookupError, TypeError, ValueError, AttributeError) as error:
            raise self._unreachable(error) from None
        for name in entries:
            path = PureWindowsPath(name)  # it knows drives and backslashes as well
            if path.anchor or ".." in path.parts or not path.parts or not name.isprintable():
                raise MedebenchError(f"{self.label}: its file name {name!r} could leave the folder")
        top = next((top for top in ("editing/", "") if top + METADATA in entries), None)
        if top is None:
            raise InputError(f"{self.label}: not laid out like MedEBench: no editing/{METADATA}")
        wanted = re.compile(rf"(?!(.*/)?generated_images/|{SOURCE}){top}|(?i:readme|licen.e)[^/]*$")
        return [file for name, file in entries.items() if wanted.match(name)]

    def fetch(self, file: _File, path: Path) -> None:
        url = f"{self.endpoint}/datasets/{self.repo}/resolve/{self.commit}/{quote(file.name)}"
        for pause in (*PAUSES, None):
            if self.stop.wait(max(0.0, self.resume_at - time.monotonic())):
                return
            try:
                answer = self._get(url, FILE_TIMEOUT, file.size)
            except Exception as error:
                problem, again = self._unreachable(error), True
            else:
                if answer.status_code == 200 and file.fits(answer.content):
                    write_bytes(path, answer.content)
                    return
                problem, again = self._trouble(answer, file.name), self._may_ask_again(answer)
            if pause is None or not again:
                raise problem
            self.stop.wait(pause)

    def _facts(self, revision: str, timeout: float, query: str, wanted: str) -> Any:
        """One of the facts about the repository."""
        name = f"{self.repo}/revision/{quote(revision, safe='')}"
        url = f"{self.endpoint}/api/datasets/{name}?{query}"
        try:
            answer = self._get(url, timeout, LARGEST_LISTING)
            if answer.status_code == 200:
                return json.loads(answer.content)[wanted]
        except Exception as error:
            # Never chained: what the library raises can quote the request, token included.
            raise self._unreachable(error) from None
        raise self._trouble(answer)

    def _get(self, url: str, timeout: float, largest: int) -> _Answer:
        """At most one byte more than `largest`; nothing where it is packed beyond reading."""
        from huggingface_hub import utils

        library: Any = utils
        headers = library.build_hf_headers() | {"Accept-Encoding": "identity"}
        ends = time.monotonic() + LONGEST_ANSWER
        data = bytearray()
        request = self.client.build_request("GET", url, headers=headers, timeout=timeout)
        answer = self.client.send(request, stream=True)
        for _ in range(REDIRECTS):
            if answer.next_request is None:
                break
            # By hand, since the client would read what comes with a redirect, of any size.
            answer.close()
            answer = self.client.send(answer.next_request, stream=True)
        try:
            gathered = Gathering(answer.headers, largest)
            data = gathered.data
            for piece in answer.iter_raw():
                gathered.add(piece)
                if time.monotonic() > ends or self.stop.is_set():
                    raise TimeoutError
        except (TooMuch, Damaged):
            pass  # what there is will not fit what the hub stated
        finally:
            answer.close()
        return _Answer(answer.status_code, answer.headers, bytes(data))

    def _may_ask_again(self, answer: Any) -> bool:
        """After a passing trouble; all workers then wait as long as the hub asks."""
        wait = _asked_wait(answer)
        if wait > LONGEST_WAIT or answer.status_code not in PASSING:
            return False
        with self.lock:
            until, before = time.monotonic() + wait, self.resume_at
            self.resume_at = max(before, until)
        # Once for all workers: their answers come within moments of each other.
        if wait > 5 and until > before + 5:
            logging.getLogger(__name__).warning("%s asks to wait %d s", self.label, wait)
        return True

    def _trouble(self, answer: Any, file: str = "") -> MedebenchError:
        status, code = answer.status_code, answer.headers.get("X-Error-Code")
        if status == 200:
            return self._later(f": {file} came damaged, not with the size and hash stated", "now")
        if file or status in PASSING:
            wait = _asked_wait(answer)
            what = "too many requests" if status == 429 else f"no {file or 'answer'} from the hub"
            return self._later(f": {what} ({status})", f"in {wait} s" if wait else "later")
        what = "no such dataset, or it is private; check the name, or set HF_TOKEN"
        if code == "RevisionNotFound":
            what = f"no revision '{self.revision}'"
        elif code == "GatedRepo" or status == 403:
            what = "access is restricted; accept its conditions on that page, then set HF_TOKEN"
        return InputError(f"{self.label}: {what} ({status})")

    def _unreachable(self, error: Exception) -> MedebenchError:
        # By name, for the library has changed its HTTP client twice.
        kinds = " ".join(kind.__name__ for kind in type(error).__mro__)
        if re.search("LocalProtocol|InvalidHeader|UnicodeEncode", kinds):
            return InputError(f"{self.label}: HF_TOKEN cannot be sent; check it for odd characters")
        if "CERTIFICATE" in str(error):
            return self._later(": its certificate is not trusted (SSL_CERT_FILE can name another)")
        why = "no network?" if "Connect" in kinds else type(error).__name__
        return self._later(f" cannot be reached ({'no answer' if 'Timeout' in kinds else why})")

    def _later(self, what: str, when: str = "later") -> MedebenchError:
        kept = ", what was fetched is kept" if self.staging.exists() else ""
        return MedebenchError(f"{self.label}{what}; run again {when}{kept}")


def _new_client() -> Any:
    import httpx

    return httpx.Client(limits=httpx.Limits(max_connections=WORKERS))


def _repo(name: str) -> str:
    if re.fullmatch(r"hub:(?!.*(--|\.\.|\.git$))\w([\w.-]*\w)?/\w([\w.-]{0,94}\w)?", name, re.A):
        return name[len("hub:") :]
    if name not in KNOWN:
        raise InputError(f"'{name[:80]}': no such set; known: {', '.join(KNOWN)}, hub:owner/name")
    return KNOWN[name]


def _gather(files: list[_File], hub: _Hub, staging: Path, progress: Progress) -> None:
    """Bring `staging` to hold exactly `files`, fetching what is missing."""
    present = {path for path in staging.rglob("*") if path.is_file()}
    paths = {staging / file.name: file for file in files}
    whole = {path for path in present & paths.keys() if paths[path].fits(path.read_bytes())}
    for path in present - whole:  # half written, damaged or of another revision
        path.unlink()
    progress(len(whole), len(files))
    pool = ThreadPoolExecutor(WORKERS, thread_name_prefix="hub")
    try:
        left = {pool.submit(hub.fetch, paths[path], path) for path in paths if path not in whole}
        while left:
            # Not for ever: a signal that another thread received is seen only between waits.
            done, left = wait(left, timeout=0.5, return_when=FIRST_COMPLETED)
            for more, task in enumerate(done, start=1 - len(done)):
                task.result()
                progress(len(files) - len(left) + more, len(files))
    finally:
        hub.stop.set()
        pool.shutdown(cancel_futures=True)
        hub.client.close()
        if not any(path.is_file() for path in staging.rglob("*")):
            shutil.rmtree(staging, ignore_errors=True)


def _asked_wait(answer: Any) -> int:
    """Seconds from `Retry-After: 55` or the hub's own `RateLimit: "resolvers";r=0;t=55`."""
    given = re.fullmatch(r"\d{1,9}", answer.headers.get("Retry-After", ""))
    if given is None and answer.status_code == 429:  # the other header comes with every answer
        given = re.search(r"(?<=;t=)\d{1,9}", answer.headers.get("RateLimit", ""))
    return int(given[0]) if given else 0
