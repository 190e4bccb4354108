"""All tasks by organ; sampling and rendering of any case by index."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy import ndimage

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
from medebench.phantoms.drawings.noise import stream
from medebench.phantoms.drawings.phantom_spec import ORGANS, Draw, Phantom, PhantomSpec, Task
from medebench.phantoms.drawings.shapes import extent
from medebench.phantoms.drawings.stage import SHAPE, Image
from medebench.phantoms.drawings.unseen_tasks import UNSEEN_TASKS

TASKS: tuple[Task, ...] = (
    *skin.TASKS, *hair.TASKS, *eyes.TASKS, *nose.TASKS, *face_tasks.TASKS, *teeth.TASKS,
    *ears.TASKS, *torso.TASKS, *feet.TASKS, *mouth.TASKS, *hands.TASKS, *gut.TASKS, *spine.TASKS,
)  # fmt: skip
BY_ORGAN = {organ: tuple(t for t in TASKS if t.organ == organ) for organ in ORGANS}
BY_NAME = {(t.organ, t.task): t for t in TASKS}
_EVERY = BY_NAME | {(t.organ, t.task): t for t in UNSEEN_TASKS}


_VISIBLE = 0.018  # smallest channel difference (0..1) that counts as edited
_CLOSE = 5.0  # gaps between edited pixels up to twice this many pixels are bridged
_FRAME = 16  # working border around the edited pixels
_MARGIN = 4.0  # pixels by which the region of interest exceeds the edited pixels


def sample(index: int, seed: int = 0) -> PhantomSpec:
    """Parameters of case ``index``: organs cycle, tasks alternate within the organ."""
    if index < 0:
        raise ValueError("index must not be negative")
    organ = ORGANS[index % len(ORGANS)]
    tasks = BY_ORGAN[organ]
    task = tasks[(index // len(ORGANS)) % len(tasks)]
    rng = stream(seed, f"case {index}")
    return PhantomSpec(index, seed, organ, task.task, task.sample(Draw(rng)))


def sample_unseen(index: int, seed: int = 0) -> PhantomSpec:
    """Parameters of case ``index`` of the tasks that are kept out of all trainings: they cycle."""
    if index < 0:
        raise ValueError("index must not be negative")
    task = UNSEEN_TASKS[index % len(UNSEEN_TASKS)]
    rng = stream(seed, f"unseen case {index}")
    return PhantomSpec(index, seed, task.organ, task.task, task.sample(Draw(rng)))


def _region(before: Image, after: Image) -> tuple[NDArray[np.bool_], NDArray[np.float64]]:
    """Visible change as smooth solid areas, and how much of the edit to keep at each pixel."""
    region, keep = np.zeros(SHAPE, dtype=np.bool_), np.zeros(SHAPE)
    changed = np.abs(before - after).max(axis=-1) > _VISIBLE
    window = extent(changed, _FRAME)
    if window is None:
        return region, keep
    changed = np.pad(changed[window], _FRAME)
    near = ndimage.distance_transform_edt(~changed) <= _CLOSE
    solid = ndimage.distance_transform_edt(near) > _CLOSE  # dilation and erosion: a closing
    solid = ndimage.binary_fill_holes(solid | changed)
    # Smooth away specks and spikes; what they lose is faint and fades out with the rim.
    smooth = ndimage.uniform_filter(ndimage.uniform_filter(solid.astype(np.float64), 7), 7) > 0.34
    outside = ndimage.distance_transform_edt(~smooth)
    inner = (slice(_FRAME, -_FRAME), slice(_FRAME, -_FRAME))
    region[window] = (outside <= _MARGIN)[inner]
    keep[window] = np.clip((_MARGIN - outside[inner]) / (_MARGIN - 1.0), 0.0, 1.0)
    return region, keep


def _digitise(image: Image) -> NDArray[np.uint8]:
    return np.floor(np.clip(image, 0.0, 1.0) * 255.0 + 0.5).astype(np.uint8)


def render(spec: PhantomSpec) -> Phantom:
    """Draw a case. A pure function of the spec's task and parameters."""
    task = _EVERY[spec.organ, spec.task]
    before, after = task.pair(spec.params)
    region, keep = _region(before, after)
    # Differences too faint to count fade out towards the rim, so none leaves the region.
    after = before + (after - before) * keep[..., None]
    texts = task.texts(spec.params)
    wordings = (texts["prompts"], texts["rephrased_prompts"], texts["descriptions"])
    phrases = zip(wordings, spec.params["phrases"], strict=True)
    prompt, rephrased, description = (wording[n % len(wording)] for wording, n in phrases)
    images = (_digitise(before), _digitise(after), np.where(region, 255, 0).astype(np.uint8))
    facts = (texts["key_concept"], texts["modality"], texts["kind"])
    return Phantom(spec, *images, prompt, rephrased, description, *facts)
