"""The errors a user can meet; the command line turns each into one line and an exit code."""

from __future__ import annotations

from medebench.plaintext import clean


class MedebenchError(Exception):
    """Something went wrong that the user can do something about (exit code 1).

    Its text may quote files, servers and programs: what a terminal would obey is taken out here.
    """

    exit_code = 1

    def __init__(self, *args: object) -> None:
        super().__init__(*(clean(one) if isinstance(one, str) else one for one in args))


class InputError(MedebenchError):
    """The call or its input is wrong (exit code 2): nothing has been written."""

    exit_code = 2


class UnknownNameError(InputError):
    """Nothing has this name; the text says what is nearest."""


class ImageError(InputError):
    """An image file that cannot be used; the text names the file and the remedy."""


class DamagedImageError(ImageError):
    """The file begins like an image and then breaks off or makes no sense."""


class OversizedImageError(ImageError):
    """More pixels than medebench decodes."""


class BusyError(InputError):
    """Another process is at work on the same run."""


class NotReadyError(InputError):
    """Something optional (an extra, weights, a key) is not there yet."""


def one_line(text: str, longest: int = 400) -> str:
    """`text` as one line for a table or a terminal, cut where it gets too long."""
    line = " ".join(clean(text).split())
    return line if len(line) <= longest else line[: longest - 1] + "…"
