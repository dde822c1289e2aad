"""Fixtures for every part: a model server with known abilities."""

from __future__ import annotations

import importlib.util
import sys
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

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
def fault() -> Any:
    """Make faults for a server's ``order(...)`` and ``always``."""
    return _load_server().Fault
