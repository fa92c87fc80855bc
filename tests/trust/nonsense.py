"""Nonsense from a seed: values of JSON replaced, bytes changed, cut, doubled."""

import json
from copy import deepcopy

# Text that `json.dumps` does not write: numbers beyond floats, other constants, deep nesting.
RAW = (
    *("NaN", "-Infinity", "1e999", "9" * 400, "-" + "9" * 400, "9" * 5000, "1." + "1" * 400, '"\\ud800"', "-0"),
    *("[" * 300 + "]" * 300, "[" * 100_000 + "]" * 100_000, '{"a": ' * 300 + "1" + "}" * 300),
)
STRANGE = (
    *(None, True, -1, 0, 1, 7, 2**31, 2**63, 2**70, -0.5, 1e-320, 1e308, "", "x", "0", "../..", "/dev/zero"),
    *("file:///etc/passwd", "s3://nowhere/x", "with/\x1b[2J\u202e.png", "a\nb\r\0", "x" * 5000),
    *([], {}, [[[]]], [0.5, "x", None], [1] * 2000, {"x": {"y": []}}),
)


def replace_value(data, rng):
    """The same JSON, as text, with one value replaced by something it cannot be, or gone; now and then several."""
    data = deepcopy(data)
    for _ in range(1 if rng.random() < 0.8 else rng.integers(2, 5)):
        _replace_one(data, rng)
    text = json.dumps(data)
    for number, raw in enumerate(RAW):
        text = text.replace(json.dumps(_mark(number)), raw)
    return text


def _mark(number):
    """Text that stands for `RAW[number]` until the rest is JSON."""
    return f"\ue000{number}\ue000"


def _replace_one(data, rng):
    keys = list(data) if isinstance(data, dict) else list(range(len(data)))
    if not keys:
        return
    key = keys[rng.integers(len(keys))]
    if isinstance(data[key], dict | list) and data[key] and rng.random() < 0.8:
        _replace_one(data[key], rng)
    elif rng.random() < 0.1:
        del data[key]
    else:
        number = int(rng.integers(len(STRANGE) + len(RAW)))
        data[key] = deepcopy(STRANGE[number]) if number < len(STRANGE) else _mark(number - len(STRANGE))


def damage(data, rng):
    """The same bytes with a few of them turned, some left out, or a part twice."""
    data = bytearray(data)
    for place in rng.integers(0, len(data), rng.integers(1, 6)):
        data[place] = rng.choice([0, 1, 127, 128, 255, int(rng.integers(256))])
    start, end = sorted(rng.integers(0, len(data) + 1, 2))
    kind = rng.random()
    if kind < 0.2:
        return bytes(data[:end])
    if kind < 0.3:
        return bytes(data[:start] + data[end:])
    return bytes(data[:end] + data[start:]) if kind < 0.4 else bytes(data)
