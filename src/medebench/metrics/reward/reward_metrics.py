"""`imagereward_prompt` and `imagereward_description`: one network, two texts."""

from __future__ import annotations

import math
from collections.abc import Sequence

from medebench.errors import MedebenchError
from medebench.metrics.metric import BatchMetric, Measured, MetricInfo, Subject, Undefined
from medebench.metrics.reward.reward_reader import RewardQuery, RewardReader, shared_reader


def _info(text: str, called: str) -> MetricInfo:
    return MetricInfo(
        f"imagereward_{text}",
        f"ImageReward of the output for the {called}: what people would prefer, about -2 to 2",
        better="higher",
        low=-math.inf,
        high=math.inf,
        needs=(text,),
        label="ImageReward",
        sublabel=text,
        decimals=2,
        definition="Score of output and text by a network trained on people’s choices between "
        "generated images; unbounded, about −2 to 2.",
    )


INFOS = {
    one.name: one
    for one in (_info("prompt", "prompt"), _info("description", "description of the change"))
}


class RewardMetric(BatchMetric):
    def __init__(self, name: str, reader: RewardReader) -> None:
        self.info = INFOS[name]
        self.reader = reader
        self._text = self.info.needs[0]
        try:
            self.variant = reader.variant
        except MedebenchError:
            self.variant = "absent"  # `problem` says why, and nothing is measured

    def problem(self) -> str | None:
        return self.reader.problem()

    def prepare(self, subject: Subject) -> RewardQuery:
        self.info.require(subject.case)
        text: str = getattr(subject.case.case, self._text)
        return self.reader.ask(subject.output, subject.case.data_range, text, subject.memo)

    def measure(self, prepared: Sequence[RewardQuery]) -> list[Measured | Undefined]:
        return [
            Measured(value, {"tokens": one.words.tokens, "read": one.words.read})
            if math.isfinite(value)
            else Undefined("the network returned no finite number")
            for one, value in zip(prepared, self.reader.rewards(prepared), strict=True)
        ]

    def close(self) -> None:
        self.reader.close()


def reward_metric(
    name: str, weights: str | None = None, device: str = "auto", batch: int | None = None
) -> RewardMetric:
    """`weights`: a known name, a hub id, a folder or a file; metrics that share them share work."""
    return RewardMetric(name, shared_reader(weights, device, batch))


def info(name: str, which: str | None = None) -> MetricInfo:
    return INFOS[name]


make = reward_metric
