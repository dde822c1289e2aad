"""What orjson reads and writes, and what it refuses, is what the standard library would."""

from __future__ import annotations

import json
import math

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hatscore.sampling.fast_json import from_json, to_json

VALUES = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**63), 2**64 - 1) | st.text(max_size=4)
    | st.floats(allow_nan=False, allow_infinity=False) | st.sampled_from(["\ud83d", "a\udc00b"]),
    lambda inner: st.lists(inner, max_size=3)
    | st.dictionaries(st.text(max_size=3), inner, max_size=3),
    max_leaves=8,
)  # fmt: skip


def test_what_servers_send_is_read_the_same_way() -> None:
    assert from_json(b'{"a": "\\ud83d", "b": [1, 2.5, null]}') == {
        "a": "\ud83d",
        "b": [1, 2.5, None],
    }
    assert from_json(b'"\xff"') == "\ufffd"
    assert math.isnan(from_json(b"[NaN]")[0])
    assert from_json(b"9" * 19) == int("9" * 19)
    for broken in (b"", b"<html>", b"{'a': 1}", b'{"a": 1} and more', b"[1,]"):
        with pytest.raises(ValueError, match=r"."):
            from_json(broken)
    with pytest.raises((ValueError, RecursionError)):
        from_json(b"[" * 100_000)


def test_text_is_written_as_it_is() -> None:
    assert to_json({"stop": ("\n", '"'), "t": "да\x1f", "x": 1e-5}) in (
        '{"stop":["\\n","\\""],"t":"да\\u001f","x":1e-5}',
        '{"stop":["\\n","\\""],"t":"да\\u001f","x":0.00001}',
    )
    assert to_json(["\ud83d", 2**70]) == f'["\ud83d",{2**70}]'


@settings(deadline=None, derandomize=True, max_examples=150)
@given(VALUES)
def test_what_is_written_comes_back(value: object) -> None:
    text = to_json(value)
    assert json.loads(text) == value
    escaped = json.dumps(value).encode()  # as servers send halves of emojis
    assert from_json(escaped) == json.loads(escaped)
