"""The weights: whole or not there, and of our own SHA-256."""

from __future__ import annotations

import hashlib
import os
import sys
import time
from types import ModuleType
from typing import TYPE_CHECKING, Any

import pytest

from hatscore.errors import MissingExtraError, ModelError
from hatscore.sampling.clients import weights

if TYPE_CHECKING:
    from pathlib import Path

CONTENT = b"GGUF and then some"


class Package(ModuleType):
    """Stands for the package of the weights, which has 250 MB."""

    def __init__(self, content: bytes = CONTENT, failure: Exception | None = None) -> None:
        super().__init__("weights_package")
        self.content = content
        self.failure = failure
        self.calls = 0

    def assemble(self, path: Path, *, overwrite: bool) -> Path:
        assert overwrite
        self.calls += 1
        path.write_bytes(self.content)
        if self.failure is not None:
            raise self.failure
        return path


@pytest.fixture(autouse=True)
def _small(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(weights, "DEMO_SHA256", hashlib.sha256(CONTENT).hexdigest())


def install(monkeypatch: pytest.MonkeyPatch, package: Any) -> Any:
    monkeypatch.setitem(sys.modules, weights._PACKAGE, package)
    return package


def test_put_together_once_and_again_when_damaged(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    package = install(monkeypatch, Package())
    path = weights.demo_weights(tmp_path / "new")
    assert path.read_bytes() == CONTENT
    assert weights.demo_weights(tmp_path / "new") == path
    assert package.calls == 1
    path.write_bytes(CONTENT[:5])
    assert weights.demo_weights(tmp_path / "new").read_bytes() == CONTENT
    assert package.calls == 2
    assert [entry.name for entry in path.parent.iterdir()] == [path.name]


def test_leftovers_of_killed_starts_go_but_not_those_of_running_ones(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    install(monkeypatch, Package())
    old = tmp_path / f"{weights.DEMO_NAME}.gguf.1.part"
    new = tmp_path / f"{weights.DEMO_NAME}.gguf.2.part"
    for part in (old, new):
        part.write_bytes(b"half")
    os.utime(old, (time.time() - 7200,) * 2)
    weights.demo_weights(tmp_path)
    assert not old.exists()
    assert new.exists()
    os.utime(new, (time.time() - 7200,) * 2)
    weights.demo_weights(tmp_path)
    assert not new.exists()


@pytest.mark.parametrize(
    ("package", "words"),
    [
        (Package(b"GGUF of another model"), "have SHA-256 .* expected"),
        (Package(b"GG", ValueError("parts differ")), "damaged: parts differ; install it again"),
        (Package(b"GG", OSError(28, "No space left on device")), "No space left on device; free"),
    ],
)
def test_what_is_wrong_never_gets_the_final_name(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, package: Package, words: str
) -> None:
    install(monkeypatch, package)
    with pytest.raises(ModelError, match=words):
        weights.demo_weights(tmp_path)
    assert not list(tmp_path.iterdir())


def test_without_the_package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    install(monkeypatch, None)  # importing it raises ImportError
    with pytest.raises(MissingExtraError, match=r"hatscore\[local\]"):
        weights.demo_weights(tmp_path)


def test_kept_in_the_environment_else_in_the_cache(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "prefix", str(tmp_path / "env"))
    assert weights.weights_directory() == tmp_path / "env" / "share" / "hatscore"
    (tmp_path / "file").touch()
    monkeypatch.setattr(sys, "prefix", str(tmp_path / "file"))
    monkeypatch.setattr(sys, "platform", "linux")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    assert weights.weights_directory() == tmp_path / "cache" / "hatscore"
