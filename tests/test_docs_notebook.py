"""The tutorial notebook runs from top to bottom, and is kept without outputs."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from hatscore.benchmarks import get_benchmark
from hatscore.cli import main

if TYPE_CHECKING:
    from collections.abc import Callable

nbformat = pytest.importorskip("nbformat", reason="needs the extra docs")
nbclient = pytest.importorskip("nbclient", reason="needs the extra docs")

NOTEBOOK = Path(__file__).parents[1] / "docs" / "tutorial.ipynb"
LANGUAGES = ("en", "de", "es", "ru", "sw")

# what the Jupyter packages and zmq warn of among themselves
pytestmark = [
    pytest.mark.filterwarnings("ignore::DeprecationWarning"),
    pytest.mark.filterwarnings("ignore::ResourceWarning"),
]


@pytest.fixture
def first_run(
    model_server: Callable[..., Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Path:
    """The run that the notebook reads, of a model on loopback instead of the local one."""
    monkeypatch.chdir(tmp_path)
    benchmark = get_benchmark("worldfacts")
    items = benchmark.load(
        languages=LANGUAGES, source_language="en", items=20, seed=0, options={"kind": "capital"}
    )
    golds = {
        benchmark.prompt(item, mode="chat", prompt_language="native").text: item.gold.value
        for item in items
    }
    server = model_server(right=lambda prompt: f"Answer: {golds[prompt]}")
    command = "run openai-api/test-model -b worldfacts --kind capital --items 20 --repeats 5 -q"
    with pytest.raises(SystemExit) as end:
        main(
            [
                *command.split(),
                "-l",
                ",".join(LANGUAGES[1:]),
                "--base-url",
                server.url,
                "-o",
                "runs/first",
            ]
        )
    assert not end.value.code
    return tmp_path


def test_it_runs(first_run: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("IPYTHONDIR", "JUPYTER_RUNTIME_DIR", "JUPYTER_CONFIG_DIR", "JUPYTER_DATA_DIR"):
        monkeypatch.setenv(name, str(first_run / name.lower()))
    notebook = nbformat.read(NOTEBOOK, as_version=4)
    nbclient.NotebookClient(
        notebook, timeout=60, resources={"metadata": {"path": str(first_run)}}
    ).execute()
    shown = "".join(str(cell.get("outputs", "")) for cell in notebook.cells)
    assert "0.904" in shown
    assert "image/svg+xml" in shown
    assert all(cell.outputs for cell in notebook.cells if cell.cell_type == "code")


def test_it_is_kept_without_outputs() -> None:
    notebook = nbformat.read(NOTEBOOK, as_version=4)
    nbformat.validate(notebook)
    for cell in notebook.cells:
        if cell.cell_type == "code":
            assert cell.outputs == []
            assert cell.execution_count is None
    text = "".join(cell.source for cell in notebook.cells)
    for link in re.findall(r"\]\(([^)#:]+)", text):
        assert (NOTEBOOK.parent / link).is_file(), link
