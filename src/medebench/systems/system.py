"""What a system is: anything that turns a case into an output."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any, ClassVar

from medebench.images.picture import Picture
from medebench.outputs import Output, Part
from medebench.settings import Settings as AnySettings
from medebench.systems.request import Refused, Request

if TYPE_CHECKING:
    from medebench.models.tally import Plan


class System:
    """Subclass it and write `generate`; everything else is optional.

    A public name in the body of a subclass that is not one of these is refused, so that a misspelt
    one is not ignored in silence; names of your own begin with `_`. The constructor is given the
    checked settings. A system with `problems` is made in order to be asked: it must not load in its
    constructor.

    Attributes:
        summary, needs, example: a few words for `medebench systems`, what it needs to run, and a
            call to copy.
        Settings: a class of `medebench.Settings`: what can be set.
        argument: the setting that may follow the name without its key (`diffusers:MODEL,steps=30`).
        rest: or the one that takes all that follows the system's own settings, as it stands
            (`refine:rounds=2,blur:sigma=4`).
        control: set apart from models in every table.
        gives: the parts that come out. Of a set of mixed tasks it is asked the cases that ask for
            nothing else; a control those of which it gives at least a part.
        takes: what a case must have to be asked ("choices", ...); others are left out.
        sees: what it is shown beyond images and instruction ("roi", "reference", ...).
        at_once: how many outputs may be under way in threads, where that is not a matter of cores.
        batch: it owns a device: `generate_batch` is called from one thread, with up to so many
            requests.
        demonstrations: how many cases of the same task it wants to be shown with each request.
        least_demonstrations: how many will do where there are not so many; all, unless given.
        input_shown: whether it is shown the case's images; False: it works from words alone.
        judged_by: the judge it has looked at its outputs while it makes them.
    """

    summary: ClassVar[str] = ""
    needs: ClassVar[str] = "nothing"
    example: ClassVar[str] = ""
    Settings: ClassVar[type[AnySettings]] = AnySettings
    argument: ClassVar[str] = ""
    rest: ClassVar[str] = ""
    control: ClassVar[bool] = False
    gives: tuple[Part, ...] = ("image",)
    takes: tuple[str, ...] = ()
    sees: tuple[str, ...] = ()
    at_once: int | None = None
    batch: int | None = None
    demonstrations: int = 0
    least_demonstrations: int | None = None
    input_shown: bool = True
    judged_by: str = ""
    settings: Any

    def __init__(self, settings: Any) -> None:
        self.settings = settings

    def generate(self, request: Request) -> Output | Picture | str:
        """The output, or `Refused`, or `NotTried`."""
        raise NotImplementedError

    def generate_batch(self, requests: Sequence[Request]) -> Sequence[Output | Picture | Refused]:
        """An output or a refusal for each, in order."""
        raise NotImplementedError

    def problems(self) -> list[str]:
        """What stands in its way here, a line each, with what to do; asked before any work."""
        return []

    def prepare(self) -> None:
        """Load; an error in it ends the command before anything is written."""

    def close(self) -> None:
        """Let go at the end of a run: a process, connections, memory."""

    def share(self, other: Any) -> bool:
        """Use what another system of a sweep has loaded, if it is the same."""
        return False

    def identity(self) -> str:
        """What tells its weights from others."""
        return ""

    def estimate(self, requests: Iterable[Request]) -> Plan | None:
        """The calls that these requests would take, without making any; None: there are none."""
        return None

    def written_inner(self) -> tuple[dict[str, Any], dict[str, Any]] | None:
        """What `run.json` holds of a system inside this one: settings, and those of runtime."""
        return None


class Editor(System):
    """A system that edits images: write `edit`, and with a device `edit_batch`."""

    def edit(self, request: Request) -> Output | Picture:
        raise NotImplementedError

    def edit_batch(self, requests: Sequence[Request]) -> Sequence[Output | Picture | Refused]:
        raise NotImplementedError

    def generate(self, request: Request) -> Output | Picture | str:
        return self.edit(request)

    def generate_batch(self, requests: Sequence[Request]) -> Sequence[Output | Picture | Refused]:
        return self.edit_batch(requests)
