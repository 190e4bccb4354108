"""All tasks, grouped by organ."""

from __future__ import annotations

from medebench.phantoms.drawings import (
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
)
from medebench.phantoms.drawings.phantom_spec import ORGANS, Task

TASKS: tuple[Task, ...] = (
    *skin.TASKS, *hair.TASKS, *eyes.TASKS, *nose.TASKS, *face_tasks.TASKS, *teeth.TASKS,
    *ears.TASKS, *torso.TASKS, *feet.TASKS, *mouth.TASKS, *hands.TASKS, *gut.TASKS, *spine.TASKS,
)  # fmt: skip
BY_ORGAN = {organ: tuple(t for t in TASKS if t.organ == organ) for organ in ORGANS}
BY_NAME = {(t.organ, t.task): t for t in TASKS}
