"""Images and texts in a notebook."""

from __future__ import annotations

import base64
import html
from collections.abc import Sequence
from typing import TYPE_CHECKING

from medebench.images.outline import on_screen, outlined
from medebench.images.picture import Mask, Picture, encode_png

if TYPE_CHECKING:
    from medebench.outputs.output import Output


def image_html(picture: Picture, caption: str = "", mark: Mask | None = None) -> str:
    shown = on_screen(picture)
    shown = shown if mark is None else outlined(shown, mark)
    data = base64.b64encode(encode_png(shown)).decode()
    label = html.escape(caption)
    below = f"<figcaption>{label}</figcaption>" if caption else ""
    image = f'<img alt="{label}" style="max-width:20em" src="data:image/png;base64,{data}">'
    return f'<figure style="display:inline-block;margin:.3em">{image}{below}</figure>'


def text_html(text: str, caption: str = "", marked: Sequence[tuple[int, int]] = ()) -> str:
    """A text with some parts of it marked; they must not overlap."""
    label = f"<b>{html.escape(caption)}</b> " if caption else ""
    parts, done = [], 0
    for start, stop in sorted(marked):
        if start >= done:
            within = f"<mark>{html.escape(text[start:stop])}</mark>"
            parts += [html.escape(text[done:start]), within]
            done = stop
    told = "".join([*parts, html.escape(text[done:])])
    return f'<p style="white-space:pre-wrap">{label}{told}</p>'


def output_html(output: Output) -> str:
    image = "" if output.image is None else image_html(output.image)
    return image + ("" if output.text is None else text_html(output.text))
