"""Shows the tutorial notebook as a page of the site: its text and code, with a link to the file."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import nbformat
from mkdocs.structure.files import File

if TYPE_CHECKING:
    from mkdocs.config.defaults import MkDocsConfig
    from mkdocs.structure.files import Files

NOTEBOOK = "tutorial.ipynb"
PAGE = "tutorial-notebook.md"


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Add the page, which exists nowhere as a file."""
    notebook = nbformat.read(Path(config.docs_dir) / NOTEBOOK, as_version=4)
    parts = [
        cell.source if cell.cell_type == "markdown" else fenced(cell) for cell in notebook.cells
    ]
    note = f"*[The notebook itself]({NOTEBOOK}), to run; it is kept without outputs.*"
    title, *rest = parts
    files.append(File.generated(config, PAGE, content="\n\n".join([title, note, *rest])))
    return files


def fenced(cell: nbformat.NotebookNode) -> str:
    """Return a code cell as a block of Markdown."""
    return f"```python\n{cell.source}\n```"
