"""Repeats that are no repeats are spoken of, honest ones are not."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from hatscore.benchmarks.base import Item, Prompt
from hatscore.grading.answer import Gold
from hatscore.sampling import (
    Cell,
    Completion,
    SamplingParams,
    Store,
    Task,
    identical_share,
    warn_after,
    warn_before,
)

if TYPE_CHECKING:
    from pathlib import Path


@pytest.mark.parametrize(
    ("params", "words"),
    [
        (SamplingParams(temperature=0), "temperature 0 with 5 repeats"),
        (SamplingParams(temperature=1, extra={"temperature": 0.0}), "temperature 0"),
        (SamplingParams(extra={"seed": 7}), "sent unchanged"),
        (SamplingParams(extra={"top_k": 1}), "top_k 1"),
    ],
)
def test_before(params: SamplingParams, words: str) -> None:
    (warning,) = warn_before(params, 5)
    assert words in warning
    assert warn_before(params, 1) == []


def test_nothing_to_say_before() -> None:
    assert warn_before(SamplingParams(temperature=0.1, seed=7, extra={"top_k": 40}), 10) == []
    assert warn_before(SamplingParams(temperature=None), 10) == []


def fill(path: Path, same: int, different: int) -> Store:
    store = Store(path)
    ids = [f"{i}" for i in range(same + different)]
    store.put_items(
        Task("b", Item(i, "en", "en", "Q", Gold("number", "1")), Prompt("chat", "Q"), 3)
        for i in ids
    )
    for number, i in enumerate(ids):
        for repeat in range(3):
            text = "Paris" if number < same else f"Paris {repeat}"
            store.put(Cell("b", i, "en"), repeat, Completion(text), seed=None)
    return store


@pytest.mark.parametrize(
    ("same", "different", "warned"),
    [(96, 4, True), (95, 5, False), (20, 0, True), (19, 0, False), (0, 30, False)],
)
def test_after(tmp_path: Path, same: int, different: int, *, warned: bool) -> None:
    with fill(tmp_path / "r", same, different) as store:
        assert identical_share(store) == (same / (same + different), same + different)
        warnings = warn_after(store, SamplingParams(temperature=0.7))
        assert bool(warnings) == warned
        assert all("although the temperature is above 0" in warning for warning in warnings)
        assert warn_after(store, SamplingParams(temperature=0)) == []


def test_errors_and_single_replies_are_no_repeats(tmp_path: Path) -> None:
    with fill(tmp_path / "r", 0, 0) as store:
        assert identical_share(store) == (None, 0)
        store.put_items(
            [Task("b", Item("1", "en", "en", "Q", Gold("number", "1")), Prompt("chat", "Q"), 3)]
        )
        cell = Cell("b", "1", "en")
        store.put(cell, 0, Completion("x"), seed=None)
        store.put(cell, 1, Completion("", error="gone"), seed=None)
        store.put(cell, 2, Completion("", error="gone"), seed=None)
        assert identical_share(store) == (None, 0)
