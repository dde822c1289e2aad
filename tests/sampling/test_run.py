"""Run directories: one identity each, one writer at a time."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
from dataclasses import replace
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

import pytest

from hatscore.benchmarks.base import Item, Prompt
from hatscore.errors import InputError, RunError
from hatscore.grading.answer import Gold
from hatscore.sampling import BenchmarkPlan, Run, RunConfig, SamplingParams, Task
from hatscore.sampling.client import Completion
from hatscore.sampling.config import differences

if TYPE_CHECKING:
    from collections.abc import Callable
    from contextlib import AbstractContextManager
    from pathlib import Path

PLAN = BenchmarkPlan("capitals", "1", ("de", "en"), "en", 5, 20, 0, {"names": "strict"})
CONFIG = RunConfig(
    "openai-api/m",
    "openai-api",
    "m",
    "chat",
    "native",
    SamplingParams(temperature=0.7, seed=3, extra={"top_k": 4}),
    (PLAN,),
    "http://localhost:8000/v1",
)


def hold_a_reply(run: Run) -> None:
    """Without one a run may be begun anew as another."""
    item = Item("1", "en", "en", "?", Gold("number", "1", "en", "en"))
    task = Task("capitals", item, Prompt("chat", "?"), 5)
    run.store.put_items([task])
    run.store.put(task.cell, 0, Completion("1"), seed=None)


def test_config_survives_json() -> None:
    assert RunConfig.from_json(CONFIG.to_json()) == CONFIG
    frozen = replace(PLAN, options=MappingProxyType({"names": "strict"}), languages=["de", "en"])
    again = replace(CONFIG, benchmarks=[frozen])
    assert RunConfig.from_json(again.to_json()) == CONFIG


def test_create_then_resume(tmp_path: Path) -> None:
    with Run.create_or_resume(tmp_path / "a" / "run", CONFIG) as run:
        assert not run.resumed
        assert run.config == CONFIG
    later = replace(CONFIG, base_url="http://other/v1", version="9", created_at="later")
    with Run.create_or_resume(tmp_path / "a" / "run", later) as run:
        assert run.resumed
        assert run.config == CONFIG
    with Run.open(tmp_path / "a" / "run") as run:
        assert run.config == CONFIG


@pytest.mark.parametrize(
    ("change", "line"),
    [
        ({"model": "local"}, "model: stored 'openai-api/m', asked 'local'"),
        ({"client": "local"}, "client: stored 'openai-api', asked 'local'"),
        ({"served_model": "n"}, "served_model: stored 'm', asked 'n'"),
        ({"mode": "completion"}, "mode: stored 'chat', asked 'completion'"),
        ({"prompt_language": "english"}, "prompt_language: stored 'native', asked 'english'"),
        (
            {"params": SamplingParams(temperature=1.0, seed=3, extra={"top_k": 4})},
            "params.temperature: stored 0.7, asked 1.0",
        ),
        (
            {"params": SamplingParams(temperature=0.7, seed=3)},
            "params.extra.top_k: stored 4, asked nothing",
        ),
        (
            {"benchmarks": (replace(PLAN, repeats=6),)},
            "benchmarks.capitals.repeats: stored 5, asked 6",
        ),
        (
            {"benchmarks": (replace(PLAN, items=None),)},
            "benchmarks.capitals.items: stored 20, asked None",
        ),
        (
            {"benchmarks": (replace(PLAN, languages=("en",)),)},
            "benchmarks.capitals.languages: stored ['de', 'en'], asked ['en']",
        ),
        (
            {"benchmarks": (replace(PLAN, options={}),)},
            "benchmarks.capitals.options.names: stored 'strict', asked nothing",
        ),
    ],
)
def test_another_run_is_refused_with_its_difference(
    tmp_path: Path, change: dict[str, Any], line: str
) -> None:
    with Run.create_or_resume(tmp_path, CONFIG) as run:
        hold_a_reply(run)
    asked = replace(CONFIG, **change)
    assert differences(CONFIG, asked) == [line]
    with pytest.raises(RunError, match="holds another run") as caught:
        Run.create_or_resume(tmp_path, asked)
    assert line in str(caught.value)
    Run.create_or_resume(tmp_path, CONFIG).close()  # the refusal left no lock


def test_what_decides_nothing_is_no_difference() -> None:
    params = replace(CONFIG.params, temperature=1)
    plan = replace(PLAN, languages=("en", "de"))
    one = replace(CONFIG, params=params, benchmarks=(PLAN, replace(PLAN, name="sums")))
    two = replace(
        CONFIG,
        params=replace(params, temperature=1.0),
        benchmarks=(replace(plan, name="sums"), plan),
    )
    assert not differences(one, two)


def test_every_difference_is_named() -> None:
    asked = replace(
        CONFIG, mode="completion", benchmarks=(PLAN, replace(PLAN, name="sums", options={}))
    )
    lines = differences(CONFIG, asked)
    assert lines[0] == "mode: stored 'chat', asked 'completion'"
    assert [line.split(":")[0] for line in lines[1:]] == [
        f"benchmarks.sums.{name}"
        for name in (
            "items",
            "languages",
            "plan.keep",
            "plan.kind",
            "plan.width",
            "repeats",
            "seed",
            "source_language",
            "version",
        )
    ]


def test_keys_are_never_stored(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HATSCORE_API_KEY", "sk-secret")
    config = replace(CONFIG, base_url="https://user:sk-secret@host:8000/v1?key=sk-secret")
    Run.create_or_resume(tmp_path, config).close()
    text = (tmp_path / "run.json").read_text()
    assert "sk-secret" not in text
    assert '"https://host:8000/v1"' in text
    for name in ("api_key", "Authorization", "api-key"):
        with pytest.raises(InputError, match="HATSCORE_API_KEY"):
            replace(CONFIG, params=SamplingParams(extra={name: "sk-secret"}))


def test_foreign_directory_is_refused_and_left_alone(tmp_path: Path) -> None:
    for name in ("a.txt", "b.txt", "c.txt", "d.txt", ".hidden"):
        (tmp_path / name).touch()
    with pytest.raises(RunError, match=r"holds a.txt, b.txt, c.txt and 1 more but no run.json"):
        Run.create_or_resume(tmp_path, CONFIG)
    assert len(list(tmp_path.iterdir())) == 5


def test_replies_without_their_run_are_refused(tmp_path: Path) -> None:
    Run.create_or_resume(tmp_path, CONFIG).close()
    (tmp_path / "run.json").unlink()
    with pytest.raises(RunError, match=r"holds responses.sqlite.* but no run.json"):
        Run.create_or_resume(tmp_path, CONFIG)


@pytest.mark.parametrize("left", [(), ("run.lock",), ("run.lock", "run.json.part"), (".DS_Store",)])
def test_what_a_killed_start_leaves_is_no_hindrance(tmp_path: Path, left: tuple[str, ...]) -> None:
    for name in left:
        (tmp_path / name).write_text("12")
    Run.create_or_resume(tmp_path, CONFIG).close()
    Run.open(tmp_path).close()


def test_open_says_what_is_missing(tmp_path: Path) -> None:
    with pytest.raises(
        RunError, match=r"is no run: run.json missing; expected a directory written by"
    ):
        Run.open(tmp_path)
    with pytest.raises(RunError, match=r"is no run: no such directory"):
        Run.open(tmp_path / "none")
    Run.create_or_resume(tmp_path, CONFIG).close()
    (tmp_path / "responses.sqlite").unlink()
    with pytest.raises(RunError, match=r"responses.sqlite: no such file"):
        Run.open(tmp_path)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", "no JSON"),
        ('{"format": 1', "no JSON"),
        ("[]", "expected a JSON object"),
        ('{"format": 2}', "another format"),
        ('{"format": 1}', "field 'params' is missing"),
        (json.dumps({**json.loads(CONFIG.to_json()), "mode": "talk"}), "mode 'talk'"),
        (json.dumps({**json.loads(CONFIG.to_json()), "colour": 1}), "colour"),
        (json.dumps({**json.loads(CONFIG.to_json()), "benchmarks": [{"name": "x"}]}), "languages"),
        (json.dumps({**json.loads(CONFIG.to_json()), "benchmarks": 5}), "fields do not fit"),
        ("\udcff", "damaged"),
    ],
)
def test_damaged_configuration_is_named(tmp_path: Path, text: str, words: str) -> None:
    Run.create_or_resume(tmp_path, CONFIG).close()
    (tmp_path / "run.json").write_bytes(text.encode("utf-8", "surrogateescape"))
    for use in (lambda: Run.open(tmp_path), lambda: Run.create_or_resume(tmp_path, CONFIG)):
        with pytest.raises(RunError, match=words) as caught:
            use()
        assert str(tmp_path / "run.json") in str(caught.value)


def test_directory_that_cannot_be_made(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    for path in (tmp_path / "file", tmp_path / "file" / "run"):
        with pytest.raises(RunError, match="cannot be a run directory"):
            Run.create_or_resume(path, CONFIG)


def test_read_only_directories_are_read_and_refused_for_sampling(
    public_path: Path, unprivileged: Callable[[], AbstractContextManager[None]]
) -> None:
    Run.create_or_resume(public_path / "run", CONFIG).close()
    for path in (public_path / "run" / "run.lock", public_path / "run", public_path):
        path.chmod(0o555 if path.is_dir() else 0o444)
    with unprivileged():
        with Run.open(public_path / "run") as run:
            assert run.store.counts() == {}
        with pytest.raises(RunError, match=r"cannot create the lock.*can be written"):
            Run.create_or_resume(public_path / "run", CONFIG)
        with pytest.raises(RunError, match=r"cannot be a run directory: Permission denied"):
            Run.create_or_resume(public_path / "new", CONFIG)
    (public_path / "run").chmod(0o755)


HOLD = """
import sys
from hatscore.sampling import Run, RunConfig
run = Run.create_or_resume(sys.argv[1], RunConfig.from_json(sys.argv[2]))
print("held", flush=True)
sys.stdin.read()
"""


def test_one_writer_at_a_time_and_none_after_sigkill(tmp_path: Path) -> None:
    command = [sys.executable, "-c", HOLD, str(tmp_path), CONFIG.to_json()]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as holder:
        assert holder.stdout is not None
        assert holder.stdout.readline() == b"held\n"
        with pytest.raises(RunError, match=rf"another process \(process {holder.pid}\)"):
            Run.create_or_resume(tmp_path, CONFIG)
        Run.open(tmp_path).close()  # reading goes on
        holder.send_signal(signal.SIGKILL)
        holder.wait()
        with Run.create_or_resume(tmp_path, CONFIG) as run:
            assert run.resumed
