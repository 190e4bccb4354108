"""Systems: what turns a case into an output. Editors are those that edit images."""

from medebench.outputs import Edit
from medebench.settings import Settings
from medebench.systems.request import NotTried, Refused, Request, case_seed
from medebench.systems.system import Editor, System
from medebench.systems.system_lookup import SYSTEMS, SystemInstance, find_system, system_class

__all__ = [
    "SYSTEMS",
    "Edit",
    "Editor",
    "NotTried",
    "Refused",
    "Request",
    "Settings",
    "System",
    "SystemInstance",
    "case_seed",
    "find_system",
    "system_class",
]
