"""What a server takes in one request is found out once for a run and remembered."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hatscore.benchmarks.base import Item, Prompt
from hatscore.errors import ModelError
from hatscore.grading import Gold
from hatscore.sampling import BenchmarkPlan, Run, RunConfig, SamplingParams, Task, run_sampling
from hatscore.sampling.clients.openai_http import OpenAIClient
from hatscore.sampling.clients.retry import Retry
from hatscore.sampling.servers import (
    SERVERS_NAME,
    Known,
    Limits,
    keep_server,
    known_of,
    read_servers,
)

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    Serve = Callable[..., Any]

PARAMS = SamplingParams(seed=3)
SERVER = "http://h:1/v1"


def tasks(first: int, items: int = 2, repeats: int = 10) -> list[Task]:
    return [
        Task(
            "toy",
            Item(f"{i}", "sw", "en", f"{i}?", Gold("number", "1")),
            Prompt("chat", f"{i}?"),
            repeats,
        )
        for i in range(first, first + items)
    ]


PLAN = BenchmarkPlan("toy", "1", ("en", "sw"), "en", 10)
NAME = "test-model"
CONFIG = RunConfig(f"openai-api/{NAME}", "openai-api", NAME, "chat", "native", PARAMS, (PLAN,))


def start(directory: Path, url: str, wanted: list[Task], **options: Any) -> None:
    with Run.create_or_resume(directory, CONFIG) as run:
        client = OpenAIClient(NAME, url, **options)
        assert run_sampling(run, wanted, client).new == sum(task.repeats for task in wanted)


def asked(server: Any) -> list[int]:
    numbers = [request.n for request in server.requests]
    server.requests.clear()
    return numbers


@pytest.mark.parametrize(
    ("options", "first", "limits"),
    [
        ({}, [10, 10], Limits(10)),
        ({"n_limit": 4}, [10, 5, 2], Limits(2, 2, "refused")),
        ({"n_limit": 4, "beyond": "refuse silently"}, [10, 5, 2], Limits(2, 2, "refused")),
        ({"n_limit": 1, "beyond": "ignore"}, [10, 1], Limits(1, 1, "ignored")),
        ({"n_limit": 3, "beyond": "ignore"}, [10, 3], Limits(3, 3, "ignored")),
    ],
)
def test_the_next_start_asks_as_the_last_has_learnt(
    model_server: Serve, tmp_path: Path, options: Any, first: list[int], limits: Limits
) -> None:
    server = model_server(**options)
    start(tmp_path, server.url, tasks(0))
    assert asked(server)[: len(first)] == first
    assert read_servers(tmp_path) == [Known(f"{server.url}/v1", NAME, limits)]
    start(tmp_path, server.url, tasks(2))
    again = asked(server)
    assert again[0] == max(again) == first[-1]  # a limit is not tried again
    assert read_servers(tmp_path) == [Known(f"{server.url}/v1", NAME, limits)]


def test_what_was_accepted_is_asked_for_by_all_at_once(model_server: Serve, tmp_path: Path) -> None:
    server = model_server(latency_s=0.05)
    start(tmp_path, server.url, tasks(0, 1))
    asked(server)
    start(tmp_path, server.url, tasks(1, 4))
    assert asked(server) == [10] * 4
    assert server.most_under_way == 4


def test_a_refusal_that_others_disprove_is_not_remembered(
    model_server: Serve, tmp_path: Path, fault: Any
) -> None:
    server = model_server(latency_s=0.1)
    start(tmp_path, server.url, tasks(0, 1))
    server.order(fault(status=400, text="odd"))
    start(tmp_path, server.url, tasks(1, 4))  # all four are under way at once
    assert asked(server)[1:] == [10, 10, 10, 10, 5, 5]
    assert read_servers(tmp_path) == [Known(f"{server.url}/v1", NAME, Limits(10))]


@pytest.mark.parametrize("beyond", ["refuse", "refuse silently", "ignore"])
def test_a_server_that_takes_less_than_before_is_found_out(
    model_server: Serve, tmp_path: Path, beyond: str
) -> None:
    server = model_server()
    start(tmp_path, server.url, tasks(0))
    asked(server)
    server.n_limit, server.beyond = 1, beyond
    start(tmp_path, server.url, tasks(2))
    asked(server)
    [known] = read_servers(tmp_path)
    assert known.limits == Limits(1, 1, "ignored" if beyond == "ignore" else "refused")


def test_another_address_or_model_is_found_out_anew(model_server: Serve, tmp_path: Path) -> None:
    old, new = model_server(n_limit=1), model_server()
    start(tmp_path, old.url, tasks(0))
    start(tmp_path, new.url, tasks(2))
    assert asked(new) == [10, 10]
    assert {known.server for known in read_servers(tmp_path)} == {f"{old.url}/v1", f"{new.url}/v1"}
    keep_server(tmp_path, Known(f"{new.url}/v1", "other", Limits(1, 1, "refused")))
    start(tmp_path, new.url, tasks(4))
    assert asked(new) == [10, 10]


def test_credentials_are_not_kept(tmp_path: Path) -> None:
    client = OpenAIClient("m", "http://user:secret@h:1")
    client.recall(Limits(4, 4, "refused"))
    assert known_of(client) is None  # nothing was answered yet
    client._answered = True
    keep_server(tmp_path, known_of(client))
    assert read_servers(tmp_path) == [Known(SERVER, "m", Limits(4, 4, "refused"))]
    text = (tmp_path / SERVERS_NAME).read_text(encoding="utf-8")
    assert "secret" not in text
    assert "user" not in text


def test_a_start_without_an_answer_keeps_nothing(tmp_path: Path, model_server: Serve) -> None:
    server = model_server(key="right")
    with pytest.raises(ModelError):
        start(tmp_path, server.url, tasks(0), api_key="wrong", retry=Retry(tries=1))
    assert not (tmp_path / SERVERS_NAME).exists()


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"{",
        b"\xff\xfe",
        b"[" * 100_000,
        b'{"server": "x"}',
        b"[null, 3, [], {}]",
        b'[{"server": 1, "model": "m", "accepted": 1, "most": 1, "why": null}]',
        b'[{"server": "s", "model": "m", "accepted": 0, "most": 1, "why": null}]',
        b'[{"server": "s", "model": "m", "accepted": true, "most": 1, "why": null}]',
        b'[{"server": "s", "model": "m", "accepted": 1, "most": "x", "why": null}]',
        b'[{"server": "s", "model": "m", "accepted": 1, "most": 1, "why": "other"}]',
    ],
)
def test_a_damaged_file_is_as_none(model_server: Serve, tmp_path: Path, content: bytes) -> None:
    server = model_server(n_limit=5)
    Run.create_or_resume(tmp_path, CONFIG).close()
    (tmp_path / SERVERS_NAME).write_bytes(content)
    assert read_servers(tmp_path) == []
    start(tmp_path, server.url, tasks(0))
    assert read_servers(tmp_path) == [Known(f"{server.url}/v1", NAME, Limits(5, 5, "refused"))]


def test_a_file_that_cannot_be_written_stops_nothing(model_server: Serve, tmp_path: Path) -> None:
    server = model_server()
    start(tmp_path, server.url, tasks(0))
    (tmp_path / SERVERS_NAME).unlink()
    (tmp_path / SERVERS_NAME).mkdir()
    start(tmp_path, server.url, tasks(2))
    assert read_servers(tmp_path) == []


def test_the_last_word_on_a_server_stands(tmp_path: Path) -> None:
    for number in range(1, 120):
        keep_server(tmp_path, Known(f"http://h:{number}", "m", Limits(number)))
    keep_server(tmp_path, Known("http://h:119", "m", Limits(2, 2, "ignored")))
    keep_server(tmp_path, None)
    found = read_servers(tmp_path)
    assert len(found) == 100
    assert found[-1] == Known("http://h:119", "m", Limits(2, 2, "ignored"))
    assert len({known.server for known in found}) == 100


@given(
    st.builds(
        Known,
        st.text(),
        st.text(),
        st.builds(
            Limits,
            st.integers(1, 10**6),
            st.none() | st.integers(1, 10**6),
            st.sampled_from([None, "refused", "ignored"]),
        ),
    )
)
@settings(derandomize=True, deadline=None)
def test_entries_come_back(known: Known) -> None:
    assert Known.from_data(json.loads(json.dumps(known.to_data()))) == known


@pytest.mark.parametrize("server", ["http://u:p@h/v1", "openai", "http://[bad@x", ""])
def test_addresses_of_all_kinds(tmp_path: Path, server: str) -> None:
    class Minimal:
        name = "m"
        limits = Limits(3)

        def recall(self, limits: Limits) -> None:
            del limits

    client: Any = Minimal()
    client.server = server
    keep_server(tmp_path, known_of(client))
    [known] = read_servers(tmp_path)
    assert known.server == server.replace("u:p@", "").replace("http://[bad@", "")
