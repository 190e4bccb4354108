"""Two made-up stress tests and their pages, written once for all tests here."""

from __future__ import annotations

from pathlib import Path

import pytest

from medebench.stresstest.page import write_page
from tests.stresstest.page.made_up import MadeUp, made_up_classification, made_up_segmentation

HOSTILE = "</script><img src=x onerror=alert(1)> \"q\" 'q' \u202eRTL \u2028 $x_1$ {{ 7*7 }} a|b & c"


@pytest.fixture(scope="session")
def classified(tmp_path_factory: pytest.TempPathFactory) -> MadeUp:
    """30 edits, two pages of the gallery; one prompt tries to break out."""
    return made_up_classification(tmp_path_factory.mktemp("classified"), 60, texts={6: HOSTILE})


@pytest.fixture(scope="session")
def segmented(tmp_path_factory: pytest.TempPathFactory) -> MadeUp:
    return made_up_segmentation(tmp_path_factory.mktemp("segmented"), 8)


@pytest.fixture(scope="session")
def page(classified: MadeUp, tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("page-classified")
    return write_page(classified.outcome, classified.pictures, out, classified.making)


@pytest.fixture(scope="session")
def segmented_page(segmented: MadeUp, tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("page-segmented")
    return write_page(segmented.outcome, segmented.pictures, out, segmented.making)
