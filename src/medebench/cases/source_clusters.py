"""Which cases count as one: those whose inputs share an image, by its content."""

from __future__ import annotations

from collections.abc import Mapping

#: Between the images of one case.
SEPARATOR = "+"


def joined_sources(sources: Mapping[str, str]) -> dict[str, str]:
    """By case, one name for all that are linked through any of their images.

    >>> joined_sources({"1": "a+b", "2": "b+c", "3": "c", "4": "d"})
    {'1': 'a', '2': 'a', '3': 'a', '4': 'd'}
    """
    parent: dict[str, str] = {}

    def root(name: str) -> str:
        while (above := parent.setdefault(name, name)) != name:
            parent[name] = parent.get(above, above)
            name = above
        return name

    for source in sources.values():
        first, *further = source.split(SEPARATOR)
        for other in further:
            # The smaller name stays, whatever the order of the cases.
            low, high = sorted((root(first), root(other)))
            parent[high] = low
    return {case_id: root(source.split(SEPARATOR)[0]) for case_id, source in sources.items()}
