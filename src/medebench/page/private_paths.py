"""Reports are shown around; the folders of whoever made them are not."""

from __future__ import annotations

import os
import re
from functools import lru_cache
from pathlib import Path

from medebench.runs.run_folder import Run


def without_folders(run: Run, text: str) -> str:
    """A text without the paths of somebody's disk: reports are shown around."""
    if os.sep not in text:
        return text
    for folder in _folders(run.path.absolute(), Path(run.info.cases.source).absolute()):
        text = text.replace(folder + os.sep, "").replace(folder, Path(folder).name)
    return text


#: The folders of an absolute path; an address or a name with a slash in it has none.
_FOLDERS = re.compile(r"(?<![\w/.~-])(?:~|[A-Za-z]:)?[/\\](?![/\\])(?:[^/\\\s,;()'\"]+[/\\])+")


def without_any_folder(text: str) -> str:
    """A text in which absolute paths are only the names of what they lead to.

    >>> without_any_folder("diffusers:/home/ann/models/mine,lora=/home/ann/fine")
    'diffusers:mine,lora=fine'
    >>> without_any_folder("https://example.org/a/b and timbrooks/instruct-pix2pix")
    'https://example.org/a/b and timbrooks/instruct-pix2pix'
    """
    return _FOLDERS.sub("", text)


@lru_cache(maxsize=256)
def _folders(*paths: Path) -> list[str]:
    """Where the run and its cases lie, the longest first."""
    found = set()
    for path in paths:
        for one in (path, path.resolve()):
            found |= {one, one.parent, one.parent.parent}
    # Near the root a folder is nobody's, and its name may occur anywhere.
    usable = (str(path) for path in found if len(path.parts) > 2)
    return sorted(usable, key=lambda folder: (-len(folder), folder))
