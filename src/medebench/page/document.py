"""A page of sections: templates, scripts and styles, its own and those that all pages share."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from functools import cache
from importlib.resources import files
from typing import Any

from jinja2 import ChoiceLoader, Environment, PackageLoader, StrictUndefined
from markupsafe import Markup, escape

import medebench
from medebench.page.page_folder import Folder
from medebench.page.palette import variables
from medebench.page.section import Section

_SHARED = "medebench.page"


@cache
def environment(package: str) -> Environment:
    """The templates of a package; where it has none of a name, those of all pages."""
    made = Environment(
        loader=ChoiceLoader([PackageLoader(one, "templates") for one in (package, _SHARED)]),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    made.globals |= {"variables": variables(), "version": medebench.__version__}
    # A long name may break where its words end.
    made.filters["breakable"] = lambda name: Markup(
        re.sub(r"([_/.:+-])(?=[A-Za-z0-9])", "\\1<wbr>", str(escape(name)))
    )
    # A number and its sign stay on one line.
    made.filters["whole"] = lambda text: text.replace(" %", "\u00a0%")
    return made


def render(package: str, template: str, **given: Any) -> Markup:
    """Safe: the templates escape whatever they are given."""
    return Markup(environment(package).get_template(template).render(**given))


def static(package: str, name: str) -> str:
    """A script or a style of the package, or one that all pages share."""
    for one in (package, _SHARED):
        path = files(one) / "static" / name
        if path.is_file():
            return path.read_text(encoding="utf-8")
    raise FileNotFoundError(name)


def write_document(
    folder: Folder,
    package: str,
    sections: Iterable[Section],
    *,
    title: str,
    head: Markup,
    styles: Sequence[str],
    scripts: Sequence[str],
    data: Mapping[str, str],
    skip: tuple[str, str],
    top: str = "",
    headline: str = "",
) -> None:
    """Write `index.html` with all it needs.

    `data` are scripts that come before all others; `skip` says where the keyboard may go at once,
    and what that is called; `top` is what the list of sections calls the head.
    """
    shown = list(sections)
    every = [*scripts, *(name for section in shown for name in section.scripts)]
    for name in (*styles, *every):
        folder.write(f"assets/{name}", static(package, name))
    for name, text in data.items():
        folder.write(f"assets/{name}", text)
    for section in shown:
        section.write(folder)
    html = render(
        package,
        "page.html",
        title=title,
        head=head,
        sections=shown,
        styles=[*styles, *(name for section in shown for name in section.styles)],
        scripts=[*data, *every],
        skip=skip,
        top=top,
        headline=headline,
    )
    folder.write("index.html", html)
