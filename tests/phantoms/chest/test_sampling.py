"""Populations: as often as asked for, confounded as far as asked for, nobody twice."""

from __future__ import annotations

import zlib
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as some
from scipy import stats

from medebench.errors import InputError
from medebench.phantoms.chest.chest_spec import DEVICES, FINDINGS
from medebench.phantoms.chest.patients import (
    EVERYBODY,
    Population,
    confounded,
    draw_patient,
)

#: A fair test fails once in so many.
RARE = 1e-5


def has(spec, thing: str) -> bool:
    if thing in DEVICES:
        return spec.device(thing) is not None
    return spec.look.hospital == thing


@settings(max_examples=6, deadline=None, derandomize=True)
@given(some.integers(0, 2**31), some.sampled_from([*DEVICES, "B", "C"]), some.floats(0, 1))
def test_a_confounder_comes_with_the_illness_as_often_as_asked_for(seed, thing, degree):
    drawn = [confounded(seed, k, "pneumothorax", thing, degree) for k in range(240)]
    assert [sick for _, sick in drawn] == [k % 2 == 0 for k in range(240)]
    for spec, sick in drawn:
        assert (spec.finding("pneumothorax") is not None) == sick
    for ill, chance in ((True, (1 + degree) / 2), (False, (1 - degree) / 2)):
        there = [has(spec, thing) for spec, sick in drawn if sick == ill]
        assert stats.binomtest(sum(there), len(there), chance).pvalue > RARE


@pytest.mark.parametrize("thing", ["chest drain", "B"])
def test_degrees_none_half_and_full(thing):
    counts = {}
    for degree in (0.0, 0.5, 1.0):
        drawn = [confounded(31, k, "opacities", thing, degree) for k in range(400)]
        counts[degree] = [
            [
                sum(has(spec, thing) == there for spec, sick in drawn if sick == ill)
                for ill in (0, 1)
            ]
            for there in (True, False)
        ]
    assert stats.chi2_contingency(counts[0.0]).pvalue > 0.01
    assert stats.chi2_contingency(counts[0.5]).pvalue < 1e-9
    assert counts[1.0] == [[0, 200], [200, 0]]


def test_with_degree_0_a_hospital_tells_nothing_about_the_device():
    drawn = [confounded(32, k, "pneumothorax", "chest drain", 0.0)[0] for k in range(400)]
    table = [
        [sum(has(s, "chest drain") == drain and s.look.hospital == h for s in drawn) for h in "AB"]
        for drain in (True, False)
    ]
    assert stats.chi2_contingency(table).pvalue > 0.01


@pytest.mark.parametrize("degree", [-0.01, 1.01, float("nan"), float("inf")])
def test_a_degree_outside_0_and_1_is_refused(degree):
    with pytest.raises(InputError, match="between 0 and 1"):
        confounded(0, 0, "nodule", "wires", degree)


def test_other_things_that_cannot_be_confounded():
    with pytest.raises(InputError, match="expected one of chest drain"):
        confounded(0, 0, "nodule", "hat", 0.5)
    with pytest.raises(InputError, match="must differ from with_it"):
        confounded(0, 0, "nodule", "A", 0.5)


def test_everybody_has_what_their_population_says():
    drawn = [draw_patient(33, k, EVERYBODY) for k in range(1500)]
    for name in FINDINGS:
        found = sum(spec.finding(name) is not None for spec in drawn)
        assert stats.binomtest(found, len(drawn), 0.15).pvalue > RARE, name
    assert all(len(spec.findings) <= 1 for spec in drawn)
    air = [spec for spec in drawn if spec.finding("pneumothorax")]
    others = [spec for spec in drawn if not spec.finding("pneumothorax")]
    for group, chance in ((air, 0.6), (others, 0.12)):
        drains = sum(has(spec, "chest drain") for spec in group)
        assert stats.binomtest(drains, len(group), chance).pvalue > RARE
    for hospital, share in EVERYBODY.hospitals.items():
        found = sum(has(spec, hospital) for spec in drawn)
        assert stats.binomtest(found, len(drawn), share).pvalue > RARE, hospital


def test_shares_of_hospitals_need_not_add_up():
    population = Population(hospitals={"A": 0.3, "C": 0.3})
    drawn = [draw_patient(34, k, population) for k in range(300)]
    assert {spec.look.hospital for spec in drawn} == {"A", "C"}
    found = sum(has(spec, "C") for spec in drawn)
    assert stats.binomtest(found, 300, 0.5).pvalue > RARE


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"findings": {"cold": 0.1}}, "no 'cold'"),
        ({"findings": {"nodule": 0.7, "oedema": 0.7}}, "more than 1"),
        ({"devices": {"wires": 1.2}}, "between 0 and 1"),
        ({"devices": {"wires": float("nan")}}, "between 0 and 1"),
        ({"devices_with": {("wires", "nodule"): 0.1}}, "expected one of `devices`"),
        ({"hospitals": {}}, "above 0"),
        ({"hospitals": {"A": 0.0}}, "above 0"),
    ],
)
def test_a_population_that_cannot_be_is_refused(wrong, message):
    with pytest.raises(InputError, match=message):
        Population(**wrong)


def test_nobody_is_drawn_twice():
    seeds = (0, 1, 30260, 2**31)
    everybody = [draw_patient(seed, k, EVERYBODY) for seed in seeds for k in range(500)]
    everybody += [confounded(seed, k, "oedema", "B", 0.5)[0] for seed in seeds for k in range(500)]
    assert len({spec.seed for spec in everybody}) == len(everybody)
    assert len({replace(spec, seed=0).anatomy for spec in everybody}) == len(everybody)
    # Indices become random streams through a checksum of their name: no two may share it.
    for name in ("chest", "confounded"):
        checksums = {zlib.crc32(f"{name} {k}".encode()) for k in range(200_000)}
        assert len(checksums) == 200_000
