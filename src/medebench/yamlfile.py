"""YAML that users write, read with errors that name the file and the line."""

from __future__ import annotations

import difflib
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from medebench.errors import InputError, one_line
from medebench.files import read_bytes

if TYPE_CHECKING:
    import yaml

#: Bytes, values with all repetitions written out, and levels of what a person may have written.
LARGEST, MOST_VALUES, DEEPEST = 1_000_000, 100_000, 50
#: Beyond this a whole number is a mistake, and many a library's end.
_LARGEST_NUMBER = 2**63
_PREFIX = "tag:yaml.org,2002:"
_SCALARS = ("str", "int", "float", "bool", "null")
_TAGS = {_PREFIX + name for name in (*_SCALARS, "seq", "map", "merge")}


def read_text(path: Path, kind: str, builtin: Sequence[str]) -> str:
    """The text of the user's `kind` at `path`; a misspelt built-in name gets a hint."""
    if not path.is_file():
        close = difflib.get_close_matches(str(path), builtin, 1)
        hint = f"did you mean '{close[0]}'?" if close else f"built-in: {', '.join(builtin)}"
        raise InputError(f"{path}: no such {kind}; {hint}")
    try:
        return read_bytes(path, LARGEST).decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise InputError(f"{path}: cannot be read as UTF-8 text ({error})") from None
    except OSError as error:
        raise InputError(f"{path}: cannot be read ({error.strerror})") from None


def parse_fields(where: str, text: str, expected: str) -> dict[str, Any]:
    """The fields of a YAML mapping; `expected` names some of them for the message.

    Plain values, lists and mappings are read. Tags, keys that are there twice, dates as anything
    but text, and repetitions without end are not: each is one line that says where.
    """
    import yaml

    try:
        value = _load(text)
    except _Odd as odd:
        raise InputError(f"{where}{_place(odd.mark)}: {odd}") from None
    except (yaml.YAMLError, ValueError, RecursionError) as error:
        deep = "nested too deeply" if isinstance(error, RecursionError) else None
        problem = deep or getattr(error, "problem", None) or getattr(error, "reason", None)
        place = _place(getattr(error, "problem_mark", None))
        what = one_line(problem or str(error) or type(error).__name__, 200)
        raise InputError(f"{where}{place}: not YAML ({what})") from None
    if not isinstance(value, dict) or not all(isinstance(key, str) for key in value):
        raise InputError(f"{where}: expected fields such as {expected}")
    return value


class _Odd(Exception):
    """Something YAML allows and nobody needs here."""

    def __init__(self, problem: str, mark: Any) -> None:
        super().__init__(problem)
        self.mark = mark


def _place(mark: Any) -> str:
    return f", line {mark.line + 1}, column {mark.column + 1}" if mark else ""


def _load(text: str) -> Any:
    import yaml

    loader = yaml.SafeLoader(text)
    # A date is text, as it would be in quotes.
    loader.yaml_implicit_resolvers = {
        first: [one for one in known if one[0] != _PREFIX + "timestamp"]
        for first, known in loader.yaml_implicit_resolvers.items()
    }
    try:
        node = loader.get_single_node()
        if node is None:
            return None
        _check(loader, node, {}, ())
        return loader.construct_document(node)
    finally:
        loader.dispose()


def _check(
    loader: yaml.SafeLoader, node: yaml.Node, sizes: dict[int, int], above: tuple[int, ...]
) -> int:
    """How many values are in `node`; what is repeated by a name (`*x`) counts each time."""
    import yaml

    if id(node) in above:
        raise _Odd("a value that contains itself; write it out", node.start_mark)
    if id(node) in sizes:
        return sizes[id(node)]
    if len(above) > DEEPEST:
        raise _Odd(f"nested more than {DEEPEST} levels deep", node.start_mark)
    if node.tag not in _TAGS:
        tag = node.tag.replace(_PREFIX, "!!")
        raise _Odd(f"the tag {one_line(tag, 60)} is not read; leave it out", node.start_mark)
    inside: list[yaml.Node] = []
    if isinstance(node, yaml.MappingNode):
        _check_keys(node)
        inside = [one for pair in node.value for one in pair]
    elif isinstance(node, yaml.SequenceNode):
        inside = list(node.value)
    else:
        _check_scalar(loader, node)
    size = 1 + sum(_check(loader, one, sizes, (*above, id(node))) for one in inside)
    if size > MOST_VALUES:
        raise _Odd(f"stands for more than {MOST_VALUES:,} values", node.start_mark)
    sizes[id(node)] = size
    return size


def _check_keys(node: yaml.MappingNode) -> None:
    import yaml

    known: set[tuple[str, str]] = set()
    for key, _ in node.value:
        if not isinstance(key, yaml.ScalarNode):
            raise _Odd("a list or a mapping as the name of a field", key.start_mark)
        if (key.tag, key.value) in known:
            raise _Odd(f"the field '{one_line(key.value, 60)}' is there twice", key.start_mark)
        known.add((key.tag, key.value))


def _check_scalar(loader: yaml.SafeLoader, node: yaml.Node) -> None:
    name = node.tag.removeprefix(_PREFIX)
    if name == "merge":
        return
    if name not in _SCALARS:
        raise _Odd(f"the tag !!{name} does not fit a plain value; leave it out", node.start_mark)
    try:
        value = loader.construct_object(node) if len(node.value) <= 100 or name == "str" else None
    except (ValueError, LookupError, OverflowError):
        text = one_line(node.value, 60)
        raise _Odd(f"'{text}' does not fit its tag !!{name}", node.start_mark) from None
    if name == "int" and (value is None or abs(value) >= _LARGEST_NUMBER):
        raise _Odd("a whole number of too many digits", node.start_mark)
