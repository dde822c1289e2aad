"""Progress for people and machines, and budgets on the command line."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest
from click.testing import CliRunner

from hatscore.cli import cli
from hatscore.cli.progress import show_progress
from hatscore.sampling import Progress

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    Serve = Callable[..., Any]

ENDS = {
    "sw": {"answered": 15, "cut": 10, "empty": 0, "refused": 0, "error": 0},
    "en": {"answered": 24, "cut": 0, "empty": 1, "refused": 0, "error": 0},
    "de": {"answered": 1, "cut": 0, "empty": 0, "refused": 0, "error": 0},
}


def far(done: int, **options: Any) -> Progress:
    known = {"input_tokens": 1500, "output_tokens": 500, "cost": 0.25, "endings": ENDS}
    return Progress(done, 100, done, 2, 3.0, 12.5, 75.0, **(known | options))


def run(server: Any, directory: Path, *options: str) -> Any:
    command = [
        *("run", "openai-api/test-model", "-b", "wordmath", "-l", "de", "--items", "8"),
        *("--repeats", "3", "--base-url", server.url, "-o", str(directory), *options),
    ]
    return CliRunner().invoke(cli, command, standalone_mode=False)


def test_lines_name_pace_tokens_cost_and_troubled_languages(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("hatscore.cli.progress._EVERY_S", {"lines": -1.0})
    with show_progress("m", quiet=False, mode="lines") as update:
        assert update is not None
        update(far(25))
    assert capsys.readouterr().err == (
        "m: 25/100 replies, 12.5/s, 1:15 left, 2.0k tokens, 0.25 USD, 2 failed; "
        "sw: 60% answered, 40% cut; en: 96% answered, 4% empty\n"
    )


def test_the_bar_shows_every_language(capsys: pytest.CaptureFixture[str]) -> None:
    with show_progress("m", quiet=False, mode="bar") as update:
        assert update is not None
        update(far(25))
        update(far(100))
    shown = capsys.readouterr().err
    assert "100/100" in shown
    for text in ("12.5/s", "0.25 USD", "sw: 60% answered, 40% cut", "de: 100% answered"):
        assert text in shown


def test_json_lines_are_complete_and_end(capsys: pytest.CaptureFixture[str]) -> None:
    with show_progress("m", quiet=False, mode="json") as update:
        assert update is not None
        for done in range(1, 50):
            update(far(done, cost=None))
    lines = [json.loads(line) for line in capsys.readouterr().err.splitlines()]
    assert [line["event"] for line in lines] == ["progress", "end"]
    assert [line["done"] for line in lines] == [1, 49]
    assert lines[1] == {
        "event": "end",
        "model": "m",
        "done": 49,
        "total": 100,
        "new": 49,
        "errors": 2,
        "elapsed_s": 3.0,
        "rate": 12.5,
        "eta_s": 75.0,
        "input_tokens": 1500,
        "output_tokens": 500,
        "cost_usd": None,
        "under_way": 0,
        "level": 0,
        "endings": ENDS,
        "stage": None,
        "trouble": None,
    }


@pytest.mark.parametrize("options", [{"quiet": True}, {"quiet": False, "mode": "none"}])
def test_nothing_when_nothing_is_wanted(options: dict[str, Any]) -> None:
    with show_progress("m", **options) as update:
        assert update is None


def test_a_budget_ends_the_run_and_raising_it_goes_on(model_server: Serve, tmp_path: Path) -> None:
    server = model_server(right=lambda _: "42", wrong=lambda _: "43")
    prices = ("--price-in", "1", "--price-out", "2")
    result = run(server, tmp_path / "r", "--max-replies", "10", "--progress", "json", *prices)
    assert result.return_value == 1
    lines = [json.loads(line) for line in result.stderr.splitlines() if line.startswith("{")]
    assert lines[-1]["event"] == "end"
    assert lines[-1]["done"] == 10
    assert lines[-1]["cost_usd"] > 0
    assert "38 of 48 replies are missing: the limit of 10 replies is reached" in result.stderr
    assert "USD for the whole run" in result.stderr
    result = run(server, tmp_path / "r", "--quiet")
    assert result.return_value == 0


def test_a_cost_needs_prices(model_server: Serve, tmp_path: Path) -> None:
    result = run(model_server(), tmp_path / "r", "--max-cost", "3")
    assert "no price known; give --price-in and --price-out" in str(result.exception)
    assert not (tmp_path / "r").exists()
