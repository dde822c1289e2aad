"""From the name of a model to its client."""

from __future__ import annotations

import asyncio
import importlib.util
from typing import TYPE_CHECKING

import pytest

from hatscore.errors import InputError, MissingExtraError, UnknownNameError
from hatscore.sampling import SamplingParams, make_client
from hatscore.sampling.clients.openai_http import OpenAIClient

if TYPE_CHECKING:
    from pathlib import Path

NEEDS_LOCAL = pytest.mark.skipif(
    importlib.util.find_spec("xllamacpp") is None, reason="needs the extra local"
)


@pytest.fixture(autouse=True)
def _no_addresses(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("HATSCORE_BASE_URL", raising=False)
    monkeypatch.delenv("OPENAI_BASE_URL", raising=False)


def test_server_from_argument_or_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    client = make_client("openai-api/org/model", base_url="http://h:1", mode="completion")
    assert isinstance(client, OpenAIClient)
    assert (client.kind, client.name, client.mode) == ("openai-api", "org/model", "completion")
    assert client.base_url == "http://h:1/v1"
    monkeypatch.setenv("OPENAI_BASE_URL", "http://openai:2/v1")
    assert make_client("openai-api/m").base_url == "http://openai:2/v1"
    monkeypatch.setenv("HATSCORE_BASE_URL", "http://hatscore:3")
    client = make_client("openai-api/m")
    assert (client.base_url, client.mode) == ("http://hatscore:3/v1", "chat")


def test_server_without_an_address() -> None:
    with pytest.raises(InputError, match=r"needs the address.*HATSCORE_BASE_URL"):
        make_client("openai-api/m")


@pytest.mark.parametrize(
    "spec", ["", "locale", "openai-api", "openai-api/", "gpt-4o", "local/", "/"]
)
def test_unknown_forms_are_refused_with_the_known(spec: str) -> None:
    with pytest.raises(UnknownNameError, match=r"local, local/PATH\.gguf, .*openai-api/NAME"):
        make_client(spec, base_url=None)


def test_tries_are_positive() -> None:
    with pytest.raises(InputError, match="tries 0"):
        make_client("openai-api/m", base_url="http://h", tries=0)


def test_local_without_its_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    find = importlib.util.find_spec
    monkeypatch.setattr(
        importlib.util, "find_spec", lambda name: None if name == "xllamacpp" else find(name)
    )
    with pytest.raises(MissingExtraError, match=r"pip install 'hatscore\[local\]'"):
        make_client("local")


def gguf(path: Path, *, template: bool) -> Path:
    """Write the head of a GGUF file: magic, version, counts, one pair of metadata."""
    key = b"tokenizer.chat_template" if template else b"general.name"
    value = b"{{ messages }}"
    head = b"GGUF" + (3).to_bytes(4, "little") + bytes(8) + (1).to_bytes(8, "little")
    pair = len(key).to_bytes(8, "little") + key + (8).to_bytes(4, "little")
    path.write_bytes(head + pair + len(value).to_bytes(8, "little") + value)
    return path


@pytest.mark.model
@NEEDS_LOCAL
def test_local_models_by_path(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    base = gguf(tmp_path / "base.gguf", template=False)
    chat = gguf(tmp_path / "chat.gguf", template=True)
    client = make_client(f"local/{base}")
    assert (client.kind, client.name, client.mode) == ("local", "base", "completion")
    assert client.base_url is None
    assert make_client(f"local/{chat}", mode="chat").mode == "chat"
    monkeypatch.chdir(tmp_path)
    assert make_client("local/base.gguf").name == "base"
    with pytest.raises(InputError, match="base model without a chat template"):
        make_client(f"local/{base}", mode="chat")
    with pytest.raises(InputError, match="no such file"):
        make_client(f"local/{tmp_path}/none.gguf")
    (tmp_path / "page.gguf").write_text("<html>")
    with pytest.raises(InputError, match="not a model in GGUF format"):
        make_client("local/page.gguf")
    with pytest.raises(InputError, match="takes no server address"):
        make_client("local", base_url="http://h")
    monkeypatch.setenv("HATSCORE_LOCAL_THREADS", "many")
    with pytest.raises(InputError, match="HATSCORE_LOCAL_THREADS='many'"):
        make_client("local")


@pytest.mark.model
@NEEDS_LOCAL
def test_chat_prompt_to_a_base_model_is_refused() -> None:
    from hatscore.benchmarks.base import Prompt

    client = make_client("local")
    with pytest.raises(InputError, match="base model"):
        asyncio.run(client.complete(Prompt("chat", "hi"), n=1, params=SamplingParams(), seed=None))
