"""An ONNX file with one matrix, written by hand: no package is needed that writes them."""

from __future__ import annotations

from typing import Any

import numpy as np


def linear_model(weights: np.ndarray[Any, Any], shape: tuple[int | None, ...]) -> bytes:
    """logits = flatten(pixels) @ weights, for pixels of `shape` (None: any number)."""
    tensor = _numbers(1, *weights.shape) + _number(2, 1) + _text(8, "w")
    tensor += _bytes(9, weights.astype("<f4").tobytes())
    graph = _bytes(1, _node("Flatten", ["x"], "f")) + _bytes(1, _node("MatMul", ["f", "w"], "y"))
    graph += _text(2, "linear") + _bytes(5, tensor)
    graph += _bytes(11, _value("x", shape)) + _bytes(12, _value("y", (shape[0], weights.shape[1])))
    return _number(1, 8) + _bytes(8, _number(2, 13)) + _bytes(7, graph)


def _node(kind: str, inputs: list[str], output: str) -> bytes:
    return b"".join(_text(1, one) for one in inputs) + _text(2, output) + _text(4, kind)


def _value(name: str, shape: tuple[int | None, ...]) -> bytes:
    sides = [_text(2, "n") if side is None else _number(1, side) for side in shape]
    tensor = _number(1, 1) + _bytes(2, b"".join(_bytes(1, side) for side in sides))
    return _text(1, name) + _bytes(2, _bytes(1, tensor))


def _number(field: int, value: int) -> bytes:
    return _varint(field << 3) + _varint(value)


def _numbers(field: int, *values: int) -> bytes:
    return b"".join(_number(field, one) for one in values)


def _text(field: int, value: str) -> bytes:
    return _bytes(field, value.encode())


def _bytes(field: int, value: bytes) -> bytes:
    return _varint(field << 3 | 2) + _varint(len(value)) + value


def _varint(value: int) -> bytes:
    found = b""
    while value > 127:
        found += bytes([value & 127 | 128])
        value >>= 7
    return found + bytes([value])
