"""`Section`: what every page is a list of; whoever comes after the report may add one to it."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from markupsafe import Markup

from medebench.page.figure import Drawing
from medebench.page.page_folder import Folder

_ID = re.compile(r"[a-z][a-z0-9-]*")
_FILE = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]*")


@dataclass(frozen=True)
class Section:
    """A `<section id="...">` of its own, with its styles, scripts, files, tables and figures.

    The HTML refers to a file as `section.link(name)`, to a figure as `figures/NAME.svg`, and to a
    table by its name.
    """

    id: str
    #: In the list of sections at the top of the page; a word, or nothing.
    title: str
    html: Markup
    styles: Mapping[str, str] = field(default_factory=dict)
    files: Mapping[str, str | bytes] = field(default_factory=dict)
    drawings: Sequence[Drawing] = ()
    #: Beside the page, for people to take along.
    tables: Mapping[str, str] = field(default_factory=dict)
    #: Names of static scripts of the page's package, loaded after the page's own.
    scripts: Sequence[str] = ()

    def __post_init__(self) -> None:
        if not isinstance(self.html, Markup):
            raise TypeError("the html of a section must be Markup: text that is known to be safe")
        names = {self.id: _ID, **dict.fromkeys([*self.styles, *self.files, *self.tables], _FILE)}
        for name, pattern in names.items():
            if not pattern.fullmatch(name):
                raise ValueError(f"{name!r} cannot be the name of a section or of its file")

    def link(self, name: str) -> str:
        """Where a file of the section lies, seen from the page."""
        return link(self.id, name)

    def write(self, folder: Folder) -> None:
        """Into folders that belong to the report alone, so that a later report tidies them up."""
        folder.write_all(self.tables)
        for name, content in self.files.items():
            folder.write(self.link(name), content)
        for name, text in self.styles.items():
            folder.write(f"assets/{name}", text)
        for drawing in self.drawings:
            folder.write_all(drawing.files())


def link(section: str, name: str) -> str:
    return f"assets/{section}/{name}"
