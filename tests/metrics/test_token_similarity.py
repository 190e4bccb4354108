"""BERTScore's matching against the package of its authors, on a tiny model of the real class."""

from __future__ import annotations

import numpy as np
import pytest

from medebench.encoders.token_encoder import TokenEncoder, TokenVectors
from medebench.errors import InputError
from medebench.metrics.metric import Undefined
from medebench.metrics.text.token_similarity import TokenMatch, match_tokens
from tests.references import run_reference

PAIRS = [
    ("the scar", "the mole"),
    ("remove the mole", "remove the mole"),
    ("The Teeth, whiten the teeth!", "whiten the teeth"),
    ("the " * 60, "skin without a mole. " * 9),
    ("", "the skin"),
    ("the skin", ""),
    ("x", "photograph of the skin, 3 scars and a mole?"),
]

#: The package, without what its module imports for plots and tables.
PUBLISHED = """
import os, types
import nltk
from transformers import AutoModel, AutoTokenizer
folder = os.path.join(os.path.dirname(os.path.dirname(nltk.__file__)), "bert_score")
package = types.ModuleType("bert_score")
package.__path__, package.__version__ = [folder], "0.3.13"
sys.modules["bert_score"] = package
import bert_score.utils as published
from collections import defaultdict

words = AutoTokenizer.from_pretrained(given["folder"], model_max_length=24)
model = AutoModel.from_pretrained(given["folder"]).eval()
# Tokens are cut and framed by what its `sent_encode` calls.
framed = lambda text: words(text.strip(), truncation=True, max_length=24)["input_ids"]
published.sent_encode = lambda tokenizer, text: framed(text)
weights = defaultdict(lambda: 1.0, {words.sep_token_id: 0, words.cls_token_id: 0})
pairs = list(zip(given["references"].tolist(), given["candidates"].tolist()))
for layer in (3, 2):
    # As its `get_model` does for a BERT.
    model.encoder.layer = torch.nn.ModuleList(list(model.encoder.layer)[:layer])
    score = lambda *pair: published.bert_cos_score_idf(model, *pair, words, weights, device="cpu")
    answer[f"layer {layer}"] = torch.cat([score([one], [other]) for one, other in pairs]).numpy()
"""


@pytest.fixture(scope="module")
def bert(tmp_path_factory):
    tiny = pytest.importorskip("tests.encoders.tiny_models", exc_type=ImportError)
    return tiny.tiny_bert(tmp_path_factory.mktemp("models") / "tiny-bert")


def test_precision_recall_and_f1_equal_the_package(bert):
    candidates, references = map(list, zip(*PAIRS, strict=True))
    given = {"candidates": np.array(candidates), "references": np.array(references)}
    theirs = run_reference(PUBLISHED, folder=str(bert), **given)
    for layer in (2, 3):
        read = TokenEncoder(str(bert), layer=layer).read([*candidates, *references])
        halves = zip(read[: len(PAIRS)], read[len(PAIRS) :], strict=True)
        ours = [match_tokens(*pair) for pair in halves]
        found = np.array([(one.precision, one.recall, one.f1) for one in ours])
        assert np.abs(found - theirs[f"layer {layer}"]).max() < 1e-5
        assert found[0].min() > 0 and found[0].max() < 0.999


def test_a_text_does_not_depend_on_those_beside_it(bert):
    alone = TokenEncoder(str(bert), batch=1).read([pair[0] for pair in PAIRS])
    together = TokenEncoder(str(bert), batch=16).read([pair[0] for pair in PAIRS])
    for one, other in zip(alone, together, strict=True):
        assert np.allclose(one.vectors, other.vectors, atol=1e-5)
        assert (one.counts == other.counts).all()
    assert [(one.tokens, one.read) for one in alone][3] == (62, 24)
    assert alone[3].truncated and not alone[0].truncated


def test_what_cannot_be_had_is_said(bert, tmp_path):
    assert TokenEncoder(str(bert)).problem() is None
    assert "has 3 layers, layer 12" in str(TokenEncoder(str(bert), layer=12).problem())
    assert "medebench weights get pubmedbert" in str(TokenEncoder().problem())
    assert TokenEncoder(str(bert), layer=2).identity != TokenEncoder(str(bert)).identity
    with pytest.raises(InputError, match="batch=0"):
        TokenEncoder(str(bert), batch=0)
    blind = TokenVectors(np.zeros((3, 2), np.float32), np.array([False, True, False]), 3, 3)
    with pytest.raises(Undefined, match="without a direction"):
        match_tokens(blind, blind)
    silent = TokenVectors(np.ones((2, 2), np.float32), np.zeros(2, bool), 2, 2)
    assert match_tokens(silent, blind) == TokenMatch(0, 0, 0)
