"""`get_cases`: a published set from the Hugging Face hub, whole and verified or not at all."""

from __future__ import annotations

import json
import logging
import os
import re
import shutil
import threading
import time
from collections.abc import Callable, Sequence
from concurrent.futures import FIRST_COMPLETED, ThreadPoolExecutor, wait
from pathlib import Path, PureWindowsPath
from typing import Any
from urllib.parse import quote

from medebench.bounded_body import Damaged, Gathering, TooMuch
from medebench.cases.caseset import CaseSet
from medebench.cases.hub_files import (
    HubAnswer,
    StatedFile,
    asked_wait,
    check_space,
    held_bytes,
    human_size,
)
from medebench.cases.hub_layouts import Choice, wanted_files
from medebench.cases.load import load_cases
from medebench.errors import InputError, MedebenchError
from medebench.files import alone, read_bytes, write_bytes, write_json
from medebench.progress import silent

KNOWN = {"medgen": "Jack04810/MedGEN-Bench", "medebench": "LIUMinghao/MedEBench"}
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
#: Larger files go to the disk as they come, and go on where they broke off; bytes a second that a
#: line must manage at least.
LARGE, SLOWEST = 16_000_000, 50_000

Progress = Callable[[int, int], None]


def get_cases(
    name: str,
    out: Path,
    *,
    revision: str = "main",
    parts: Sequence[str] = (),
    layout: str | None = None,
    progress: Progress | None = None,
    tell: Callable[[str], None] | None = None,
) -> CaseSet:
    """Fetch the set `name` (`medebench`, `medgen`, `hub:owner/name`) into the new folder `out`.

    Files gather in a hidden folder beside `out`, which becomes `out` when all of them are there and
    have the size and hash the hub states; after an interruption the next call goes on from it.
    `progress(done, total)` counts files, and `tell` hears before the first one how much it is.
    Of MedGEN-Bench, `parts` names the formats wanted (all by default) and `layout` is "parquet" or
    "jsonl" where a repository has both.
    """
    repo, choice = _repo(name), Choice.read(parts, layout)
    out = Path(os.path.realpath(Path(out).expanduser()))
    if out.exists() and (not out.is_dir() or any(out.iterdir())):
        if not is_complete(name, out, revision, choice):
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
        files = hub.files(choice)
        size = sum(file.size for file in files)
        with alone(staging, out):
            if tell is not None:
                tell(f"{hub.label}: {len(files):,} files, {human_size(size)}")
            check_space(files, staging)
            _gather(files, hub, staging, progress or (lambda done, total: None))
            source = {"repo": repo, "revision": hub.commit, "asked": revision, "files": len(files)}
            write_json(staging / SOURCE, source | {"bytes": size} | choice.told())
            if out.is_dir():
                out.rmdir()
            staging.replace(out)
    except OSError as error:
        reason = error.strerror or type(error).__name__
        raise MedebenchError(f"{error.filename or staging}: cannot be written: {reason}") from error
    finally:
        chatter.set_verbosity(level)
    return load_cases(out, strict=False, progress=progress or silent)


def is_complete(name: str, out: Path, revision: str = "main", choice: Choice | None = None) -> bool:
    """Whether the same call has filled this folder, and nothing is missing."""
    repo = _repo(name)
    try:
        source = json.loads(read_bytes(out / SOURCE))
        found = [path for path in out.rglob("*") if path.is_file() and path.name != SOURCE]
        whole = [len(found), sum(path.stat().st_size for path in found)]
        asked = (source.get("asked", "main"), source["revision"])
        chosen = {key: source[key] for key in ("parts", "layout") if key in source}
        same = source["repo"] == repo and revision in asked
        same = same and chosen == (choice or Choice()).told()
        return bool(same and [source["files"], source["bytes"]] == whole)
    except (OSError, ValueError, LookupError, TypeError, AttributeError):
        return False


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

    def files(self, choice: Choice) -> list[StatedFile]:
        """The cases and the texts about them, without outputs of models."""
        found = self._facts(self.commit, LIST_TIMEOUT, "blobs=true", "siblings")
        try:
            entries = {file.name: file for file in map(StatedFile.stated, found)}
        except (LookupError, TypeError, ValueError, AttributeError) as error:
            raise self._unreachable(error) from None
        for name in entries:
            path = PureWindowsPath(name)  # it knows drives and backslashes as well
            if path.anchor or ".." in path.parts or not path.parts or not name.isprintable():
                raise MedebenchError(f"{self.label}: its file name {name!r} could leave the folder")
        wanted = wanted_files(entries.keys(), choice, self.label, SOURCE)
        return [file for name, file in entries.items() if name in wanted]

    def fetch(self, file: StatedFile, path: Path) -> None:
        url = f"{self.endpoint}/datasets/{self.repo}/resolve/{self.commit}/{quote(file.name)}"
        pauses, held = [*PAUSES, None], held_bytes(file.begun(path))
        while pauses:
            pause = pauses.pop(0)
            if self.stop.wait(max(0.0, self.resume_at - time.monotonic())):
                return
            try:
                if file.size > LARGE:
                    answer = self._get_large(url, file, path)
                else:
                    answer = self._get(url, FILE_TIMEOUT, file.size)
            except OSError as error:
                if not isinstance(error, TimeoutError | ConnectionError):
                    raise  # of the disk
                problem, again = self._unreachable(error), True
            except Exception as error:
                problem, again = self._unreachable(error), True
            else:
                if answer.status_code == 200 and file.size > LARGE:
                    if file.fits_file(file.begun(path)):
                        file.begun(path).replace(path)
                        return
                    file.begun(path).unlink()
                elif answer.status_code == 200 and file.fits(answer.content):
                    write_bytes(path, answer.content)
                    return
                problem, again = self._trouble(answer, file.name), self._may_ask_again(answer)
            if held_bytes(file.begun(path)) >= held + LARGE // 16:
                # A line that breaks often brings a large file all the same.
                pauses, held = [*PAUSES, None], held_bytes(file.begun(path))
            elif pause is None or not again:
                raise problem
            self.stop.wait(pause or PAUSES[0])

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

    def _get(self, url: str, timeout: float, largest: int) -> HubAnswer:
        """At most one byte more than `largest`; nothing where it is packed beyond reading."""
        ends = time.monotonic() + LONGEST_ANSWER
        data = bytearray()
        answer = self._send(url, timeout)
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
        return HubAnswer(answer.status_code, answer.headers, bytes(data))

    def _send(self, url: str, timeout: float, begin: int = 0) -> Any:
        """The beginning of an answer, from byte `begin` on if the server can do that."""
        from huggingface_hub import utils

        library: Any = utils
        headers = library.build_hf_headers() | {"Accept-Encoding": "identity"}
        headers |= {"Range": f"bytes={begin}-"} if begin else {}
        request = self.client.build_request("GET", url, headers=headers, timeout=timeout)
        answer = self.client.send(request, stream=True)
        for _ in range(REDIRECTS):
            if answer.next_request is None:
                break
            # By hand, since the client would read what comes with a redirect, of any size.
            answer.close()
            answer = self.client.send(answer.next_request, stream=True)
        return answer

    def _get_large(self, url: str, file: StatedFile, path: Path) -> HubAnswer:
        """Into a file beside `path`; what it holds already is not asked for again."""
        part = file.begun(path)
        part.parent.mkdir(parents=True, exist_ok=True)
        have = held_bytes(part)
        if have >= file.size:
            return HubAnswer(200, {}, b"")
        ends = time.monotonic() + LONGEST_ANSWER + file.size / SLOWEST
        answer = self._send(url, FILE_TIMEOUT, have)
        try:
            if answer.status_code not in (200, 206):
                return HubAnswer(answer.status_code, answer.headers, b"")
            begins = re.match(r"bytes (\d+)-", answer.headers.get("Content-Range", ""))
            goes_on = answer.status_code == 206 and begins and int(begins[1]) == have
            if answer.status_code == 206 and not goes_on:
                raise TimeoutError  # another part than was asked for
            with part.open("ab" if goes_on else "wb") as stream:
                left = file.size - (have if goes_on else 0)
                for piece in answer.iter_raw():
                    stream.write(piece[:left])
                    left -= len(piece)
                    if left < 0:
                        break
                    if time.monotonic() > ends or self.stop.is_set():
                        raise TimeoutError
            if left > 0:
                raise TimeoutError  # broken off without a word; asked again from there
        finally:
            answer.close()
        return HubAnswer(200, answer.headers, b"")

    def _may_ask_again(self, answer: Any) -> bool:
        """After a passing trouble; all workers then wait as long as the hub asks."""
        wait = asked_wait(answer)
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
            wait = asked_wait(answer)
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


def _gather(files: list[StatedFile], hub: _Hub, staging: Path, progress: Progress) -> None:
    """Bring `staging` to hold exactly `files`, fetching what is missing."""
    present = {path for path in staging.rglob("*") if path.is_file()}
    paths = {staging / file.name: file for file in files}
    whole = {path for path in present & paths.keys() if paths[path].fits_file(path)}
    begun = {file.begun(path) for path, file in paths.items() if path not in whole}
    for path in present - whole - begun:  # half written, damaged or of another revision
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
