"""Which cases share a picture or show one that looks the same: they are not independent."""

from __future__ import annotations

from collections.abc import Iterable

from medebench.audit.audited_case import Seen
from medebench.audit.duplicates import (
    ROLES,
    components,
    near_groups,
    picture_classes,
)
from medebench.audit.file_facts import gather
from medebench.cases.case import Case
from medebench.parallel import in_parallel


def kin(cases: Iterable[Case], workers: int | None = None) -> dict[str, int]:
    """By case id the number of its group; a case without kin is a group of its own.

    Groups are linked through any picture before or after the change, equal or alike to the eye.
    """
    seen = sorted(in_parallel(_look, cases, workers), key=lambda one: one.case.id)
    classes = picture_classes(seen)
    linked = [*(tuple(one.members) for one in classes), *near_groups(classes)]
    edges = [(one.case.id, one.case.id) for one in seen]
    edges += [(group[0].case, member.case) for group in linked for member in group]
    groups = components(edges)
    return {case_id: number for number, group in enumerate(groups) for case_id in group}


def _look(case: Case) -> Seen:
    roles = (*ROLES, *case.images)
    files = {role: path for role, path in case.files().items() if role in roles}
    return Seen(case, {role: gather(path, mask=False).facts for role, path in files.items()})
