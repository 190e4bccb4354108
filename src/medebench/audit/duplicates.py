"""Pictures that appear more than once, as groups: the cases in a group are not independent."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Hashable, Iterable, Iterator, Sequence
from typing import TypeVar

import numpy as np

from medebench.audit.audit_finding import Finding, Member, distinct, examples
from medebench.audit.audited_case import Seen
from medebench.audit.file_facts import FileFacts
from medebench.audit.likeness import THUMB, alike
from medebench.audit.text_checks import words

ROLES = ("previous", "reference")
#: Of a picture used very often, so many uses are enough to say what it resembles.
_ENOUGH = 100

_Group = tuple[Member, ...]
_Node = TypeVar("_Node", bound=Hashable)


def duplicate_findings(seen: Sequence[Seen]) -> Iterator[Finding]:
    whole = same_cases(seen)
    classes = picture_classes(seen)
    copies, shared = _copies(classes, whole)
    if whole:
        prompts = {one.case.id: tuple(words(one.case.prompt)) for one in seen}
        lines = [f"{_line(group, ' = ', False)} ({_prompts(group, prompts)})" for group in whole]
        yield _finding("duplicate-case", whole, lines)
    if copies:
        yield _finding("duplicate-image", copies, [_line(group, " = ") for group in copies])
    if shared:
        yield _finding("shared-image", shared, [_line(group, " = ") for group in shared])
    if near := near_groups(classes):
        yield _finding("near-duplicate", near, [_line(group, " ~ ") for group in near])


def _finding(code: str, groups: list[_Group], lines: list[str]) -> Finding:
    ids = distinct(member.case for group in groups for member in group)
    plural = "groups" if len(groups) > 1 else "group"
    return Finding(code, ids, f"{len(groups):,} {plural}: {examples(lines)}", tuple(groups))


def same_cases(seen: Sequence[Seen]) -> list[_Group]:
    """Groups of cases whose previous image, reference and region are equal."""
    found: dict[Hashable, list[Member]] = defaultdict(list)
    for one in seen:
        if all(one.sound(role) for role in one.files):
            pixels = {role: facts.pixels for role, facts in one.files.items()}
            # An input alone does not make a case; then what is asked for counts too.
            asked = tuple(words(one.case.prompt)) if len(pixels) == 1 else ()
            found[(*sorted(pixels.items()), asked)].append(Member(one.case.id, "case"))
    return [tuple(group) for group in found.values() if len(group) > 1]


class _Class:
    """All uses of one picture."""

    def __init__(self, facts: FileFacts) -> None:
        self.facts = facts
        self.members: list[Member] = []
        self.paths: set[str] = set()

    def cases(self) -> set[str]:
        return {member.case for member in self.members}


def picture_classes(seen: Sequence[Seen]) -> list[_Class]:
    classes: dict[bytes, _Class] = {}
    for one in seen:
        for role in (*ROLES, *one.case.images):
            if (facts := one.sound(role)) is not None:
                found = classes.setdefault(facts.pixels, _Class(facts))
                found.members.append(Member(one.case.id, role))
                found.paths.add(str(facts.path))
    return list(classes.values())


def _copies(classes: list[_Class], duplicates: list[_Group]) -> tuple[list[_Group], list[_Group]]:
    """Groups of copies, and groups that are one file; whole duplicate cases explain themselves."""
    whole = {member.case: number for number, group in enumerate(duplicates) for member in group}
    copies: list[_Group] = []
    shared: list[_Group] = []
    for one in classes:
        cases = one.cases()
        if len(cases) < 2:
            continue
        groups = {whole.get(case) for case in cases}
        if len(groups) == 1 and None not in groups:
            continue
        (shared if len(one.paths) == 1 else copies).append(tuple(one.members))
    return copies, shared


def near_groups(classes: list[_Class]) -> list[_Group]:
    looks = [(one, one.facts.look) for one in classes if one.facts.look is not None]
    hashed = [one for one, look in looks if look.hash is not None]
    if len(hashed) < 2:
        return []
    hashes = np.array([look.hash for _, look in looks if look.hash is not None], dtype=np.uint64)
    joined = b"".join(look.thumb for _, look in looks if look.hash is not None)
    thumbs = np.frombuffer(joined, dtype=np.uint8)
    pairs = alike(hashes, thumbs.reshape(-1, THUMB, THUMB))

    classes_of: dict[str, set[int]] = defaultdict(set)
    for number, one in enumerate(classes):
        for member in one.members:
            classes_of[member.case].add(number)
    edges = [
        (first, second)
        for i, j in pairs.tolist()
        for first in hashed[i].members[:_ENOUGH]
        for second in hashed[j].members[:_ENOUGH]
        # A pair's own before and after are meant to be alike, and copies are reported as such.
        if first.case != second.case and classes_of[first.case].isdisjoint(classes_of[second.case])
    ]
    # Where two inputs are alike, that an input is like the other's reference says nothing new.
    linked = {frozenset((a.case, b.case)) for a, b in edges if a.role == b.role}
    edges = [
        (a, b) for a, b in edges if a.role == b.role or frozenset((a.case, b.case)) not in linked
    ]
    order = {member: at for at, member in enumerate(m for one in classes for m in one.members)}
    return [tuple(sorted(group, key=order.__getitem__)) for group in components(edges)]


def components(edges: Iterable[tuple[_Node, _Node]]) -> list[list[_Node]]:
    parent: dict[_Node, _Node] = {}

    def root(node: _Node) -> _Node:
        parent.setdefault(node, node)
        while parent[node] != node:
            parent[node] = parent[parent[node]]
            node = parent[node]
        return node

    for first, second in edges:
        parent[root(second)] = root(first)
    groups: dict[_Node, list[_Node]] = defaultdict(list)
    for node in list(parent):
        groups[root(node)].append(node)
    return list(groups.values())


def _line(group: _Group, sign: str, roles: bool = True) -> str:
    names = [f"{member.case} {member.role}" if roles else member.case for member in group[:4]]
    more = f" and {len(group) - 4:,} more" if len(group) > 4 else ""
    return sign.join(names) + more


def _prompts(group: _Group, prompts: dict[str, tuple[str, ...]]) -> str:
    same = len({prompts[member.case] for member in group}) == 1
    return "same prompt" if same else "different prompts"
