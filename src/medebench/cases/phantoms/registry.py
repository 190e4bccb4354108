"""All tasks, grouped by organ."""

from __future__ import annotations

from . import (
    ears,
    eyes,
    face_tasks,
    feet,
    gut,
    hair,
    hands,
    mouth,
    nose,
    skin,
    spine,
    teeth,
    torso,
)  # fmt: skip
from .spec import ORGANS, Task, TaskInfo

_ALL: tuple[Task, ...] = (
    *skin.TASKS, *hair.TASKS, *eyes.TASKS, *nose.TASKS, *face_tasks.TASKS, *teeth.TASKS,
    *ears.TASKS, *torso.TASKS, *feet.TASKS, *mouth.TASKS, *hands.TASKS, *gut.TASKS, *spine.TASKS,
)  # fmt: skip

BY_ORGAN: dict[str, tuple[Task, ...]] = {
    organ: tuple(t for t in _ALL if t.organ == organ) for organ in ORGANS
}
BY_NAME: dict[tuple[str, str], Task] = {(t.organ, t.task): t for t in _ALL}
TASKS: tuple[TaskInfo, ...] = tuple(TaskInfo(t.organ, t.task, t.kind, t.modality) for t in _ALL)
