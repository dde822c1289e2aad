"""Fixtures for every part: a model server with known abilities."""

from __future__ import annotations

import importlib.util
import json
import os
import shutil
import sys
import tempfile
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from contextlib import AbstractContextManager

_SERVER = "hatscore_test_server"


def _load_server() -> Any:
    """Load the server module by its path: tests are not a package."""
    if _SERVER not in sys.modules:
        path = Path(__file__).parent / "sampling" / "server.py"
        spec = importlib.util.spec_from_file_location(_SERVER, path)
        assert spec is not None
        assert spec.loader is not None
        module = importlib.util.module_from_spec(spec)
        sys.modules[_SERVER] = module
        spec.loader.exec_module(module)
    return sys.modules[_SERVER]


@pytest.fixture
def model_server() -> Iterator[Callable[..., Any]]:
    """Start OpenAI-compatible servers: ``model_server(probability=..., ...).url``."""
    with ExitStack() as stack:
        yield lambda **options: stack.enter_context(_load_server().ModelServer(**options))


@pytest.fixture
def eclektic_file() -> Callable[[Path, dict[str, str]], Path]:
    """Write a file in ECLeKTic's layout, of questions by their number and source language."""
    from hatscore.benchmarks.eclektic_data import LANGUAGES

    def write(path: Path, sources: dict[str, str]) -> Path:
        lines = []
        for name, source in sources.items():
            record: dict[str, object] = {"q_id": int(name), "original_lang": source}
            for tag in LANGUAGES:
                record |= {
                    f"{tag}_c": f"Text {name} {tag}",
                    f"{tag}_q": f"Question {name} {tag}?",
                    f"{tag}_a": f"Answer {name} {tag}",
                }
            lines.append(json.dumps(record))
        path.write_text("\n".join(lines), "utf-8")
        return path

    return write


@pytest.fixture
def hatscore(capsys: pytest.CaptureFixture[str]) -> Callable[..., tuple[int, str, str]]:
    """Type a command in this process: ``hatscore("score", path)`` is code, stdout and stderr."""
    from hatscore.cli import main

    def run(*arguments: object) -> tuple[int, str, str]:
        with pytest.raises(SystemExit) as end:
            main([str(argument) for argument in arguments])
        printed = capsys.readouterr()
        assert isinstance(end.value.code, int)
        return end.value.code, printed.out, printed.err

    return run


@pytest.fixture
def fault() -> Any:
    """Make faults for a server's ``order(...)`` and ``always``."""
    return _load_server().Fault


@pytest.fixture
def unprivileged() -> Callable[[], AbstractContextManager[None]]:
    """Let file permissions count even for root: ``with unprivileged(): ...``."""

    @contextmanager
    def drop() -> Iterator[None]:
        if os.geteuid() != 0:
            yield
            return
        os.seteuid(65534)
        try:
            yield
        finally:
            os.seteuid(0)

    return drop


@pytest.fixture
def public_path() -> Iterator[Path]:
    """Make a directory that an unprivileged user can reach; pytest's own are private."""
    path = Path(tempfile.mkdtemp())
    path.chmod(0o755)
    yield path
    path.chmod(0o755)
    shutil.rmtree(path)
