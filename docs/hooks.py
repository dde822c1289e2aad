"""What the site needs beyond its plugins: the notebook as a page, and a reference without noise."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import nbformat
from mkdocs.structure.files import File

if TYPE_CHECKING:
    from mkdocs.config.defaults import MkDocsConfig
    from mkdocs.structure.files import Files
    from mkdocs.structure.pages import Page

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


def on_page_content(html: str, page: Page, **_: object) -> str:
    """Leave out how click writes "no default", which mkdocs-click prints as it stands."""
    return html.replace("<code>Sentinel.UNSET</code>", "") if "cli" in page.url else html


def fenced(cell: nbformat.NotebookNode) -> str:
    """Return a code cell as a block of Markdown."""
    return f"```python\n{cell.source}\n```"
