"""Other people's scorers of reports: not ready without package or weights, and never 0 for that.

Their weights are nowhere to be had without the hub; a stand-in with the package's calls shows that
answers and references are handed over in the right order, and what comes back.
"""

from __future__ import annotations

import importlib
import sys

import numpy as np
import pytest

import medebench as mb
from medebench.cases import Case
from medebench.errors import NotReadyError
from medebench.metrics import Undefined, find_metric, metric_info, not_ready
from medebench.metrics.metric import Subject
from medebench.outputs import Output

NAMES = ("radgraph_xl", "chexbert_f1", "ratescore", "green")


@pytest.mark.parametrize("name", NAMES)
def test_without_the_package_it_is_not_ready(name):
    if importlib.util.find_spec({"chexbert_f1": "f1chexbert"}.get(name, name.split("_")[0])):
        pytest.skip("the package is installed")
    assert "needs the package" in not_ready(name) and "pip install" in not_ready(name)
    with pytest.raises(NotReadyError, match=f"metric '{name}'"):
        find_metric(name)
    assert "Made for reports of X-ray" in metric_info(name).definition


PACKAGE = '''
class F1RadGraph:
    """Counts words of the reference that are in the answer."""

    def __init__(self, reward_level, model_type, model_cache_dir, cuda):
        assert (reward_level, model_type, cuda) == ("partial", "radgraph-xl", -1)

    def __call__(self, hyps, refs):
        scores = [len(set(a.split()) & set(r.split())) / len(r.split()) for a, r in zip(hyps, refs)]
        return sum(scores), scores, [], []
'''


def test_with_package_and_weights_it_scores(tmp_path, monkeypatch):
    site, weights = tmp_path / "site", tmp_path / "weights"
    (site / "radgraph").mkdir(parents=True)
    (site / "radgraph" / "__init__.py").write_text(PACKAGE)
    (site / "radgraph-0.1.18.dist-info").mkdir()
    facts = "Metadata-Version: 2.1\nName: radgraph\nVersion: 0.1.18\n"
    (site / "radgraph-0.1.18.dist-info" / "METADATA").write_text(facts)
    monkeypatch.syspath_prepend(str(site))
    monkeypatch.delitem(sys.modules, "radgraph", raising=False)
    monkeypatch.setenv("MEDEBENCH_WEIGHTS", str(weights))
    model = weights / "StanfordAIMI--RRG_scorers" / "radgraph-xl"
    model.mkdir(parents=True)
    assert "needs radgraph-xl/config.json of StanfordAIMI/RRG_scorers" in not_ready("radgraph_xl")
    (model / "config.json").write_text("{}")

    metric = find_metric("radgraph_xl", device="cpu")
    assert metric.variant.startswith("radgraph_xl-1 radgraph 0.1.18 ")
    answers = ["left effusion", "", "left effusion here and there"]
    prepared = [metric.prepare(_subject(one)) for one in answers]
    assert [one.value for one in metric.measure(prepared)] == [2 / 4, 0, 3 / 4]
    assert metric.measure([]) == []
    with pytest.raises(Undefined, match="the case is Pathology"):
        metric.prepare(_subject("left effusion", "Pathology"))
    metric.close()
    monkeypatch.delitem(sys.modules, "radgraph")


def _subject(answer: str, modality: str = "X-ray") -> Subject:
    case = Case("1", None, "Report.", answer="a left effusion here", modality=modality)
    return Subject(mb.open_case(case), np.zeros((0, 0, 3), np.uint8), whole=Output(text=answer))


def test_labels_that_neither_text_has_are_no_score():
    from medebench.metrics.text.clinical_scorers import _label_f1

    assert _label_f1([0, 0], [0, 0]) is None
    assert _label_f1([1, 0], [0, 1]) == 0
    assert _label_f1([1, 1], [1, 0]) == pytest.approx(2 / 3)
