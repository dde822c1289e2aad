"""The map in ARCHITECTURE.md is true: import direction, light import, public names."""

from __future__ import annotations

import ast
import json
import subprocess
import sys
from pathlib import Path

import pytest

import hatscore

ROOT = Path(__file__).parents[1]
PACKAGE = ROOT / "src" / "hatscore"

# A room may import the rooms named here, itself, and nothing else of ours. What only annotations
# need does not count: it is not imported when the program runs.
ALLOWED = {
    "errors": set(),
    "_version": set(),
    "languages": {"errors"},
    "models": {"errors"},
    "stats": {"errors"},
    "outcomes": {"errors"},
    "scoring": {"errors", "stats", "outcomes"},
    "archive": {"errors", "_version", "stats", "outcomes", "scoring"},
    "sharing": {"outcomes", "scoring"},
    "comparing": {"errors", "stats", "scoring", "sharing"},
    "studies": {
        "errors",
        "languages",
        "models",
        "stats",
        "outcomes",
        "scoring",
        "comparing",
    },
    "grading": {"errors"},
    "benchmarks": {"errors", "languages", "grading"},
    "sampling": {"errors", "_version", "benchmarks", "grading", "languages"},
    "judging": {"errors", "languages", "stats", "grading", "benchmarks", "sampling"},
    "readers": {
        "errors",
        "languages",
        "outcomes",
        "grading",
        "benchmarks",
        "sampling",
        "judging",
    },
    "inspect": {
        "errors",
        "_version",
        "languages",
        "outcomes",
        "stats",
        "grading",
        "benchmarks",
        "sampling",
        "judging",
        "readers",
    },
    "planning": {"errors", "stats", "grading", "sampling", "judging"},
    "report": {"errors", "_version", "languages", "stats", "outcomes", "scoring"},
    "cli": {
        "errors",
        "_version",
        "languages",
        "stats",
        "outcomes",
        "scoring",
        "archive",
        "comparing",
        "models",
        "studies",
        "benchmarks",
        "grading",
        "sampling",
        "judging",
        "planning",
        "readers",
        "report",
    },
    "__init__": {"_version", "outcomes", "readers", "scoring", "stats"},
    "__main__": {"cli"},
}
HEAVY = (
    "scipy",
    "polars",
    "aiohttp",
    "altair",
    "vl_convert",
    "numpy",
    "babel",
    "jinja2",
    "rich",
    "click",
)


def modules():
    return sorted(p for p in PACKAGE.rglob("*.py"))


def room_of(path):
    first = path.relative_to(PACKAGE).parts[0]
    return first.removesuffix(".py")


class RuntimeImports(ast.NodeVisitor):
    """Collect imports of ours, passing over ``if TYPE_CHECKING`` blocks."""

    def __init__(self):
        self.rooms = set()

    def visit_If(self, node):
        test = ast.unparse(node.test)
        for child in node.orelse if test == "TYPE_CHECKING" else [*node.body, *node.orelse]:
            self.visit(child)

    def visit_Import(self, node):
        for alias in node.names:
            self._add(alias.name)

    def visit_ImportFrom(self, node):
        assert node.level == 0, "absolute imports only"
        if node.module == "hatscore":
            for alias in node.names:
                self._add(f"hatscore.{alias.name}")
        else:
            self._add(node.module)

    def _add(self, name):
        parts = name.split(".")
        if parts[0] == "hatscore" and len(parts) > 1:
            self.rooms.add(parts[1])


@pytest.mark.parametrize("path", modules(), ids=lambda p: str(p.relative_to(PACKAGE)))
def test_imports_go_downwards(path):
    seen = RuntimeImports()
    seen.visit(ast.parse(path.read_text(encoding="utf-8")))
    room = room_of(path)
    assert room in ALLOWED, f"{room} is not on the map"
    assert seen.rooms - {room} <= ALLOWED[room]


def test_stats_needs_numpy_and_scipy_alone():
    code = (
        "import sys, hatscore.stats, json;"
        "print(json.dumps(sorted({m.split('.')[0] for m in sys.modules})))"
    )
    loaded = set(json.loads(run_python(code)))
    assert {"numpy", "scipy"} <= loaded
    assert not loaded & {
        "polars",
        "pandas",
        "aiohttp",
        "altair",
        "vl_convert",
        "babel",
        "rich",
        "click",
    }


def test_importing_the_package_loads_nothing_heavy():
    code = "import sys, hatscore, json; print(json.dumps(sorted(sys.modules)))"
    loaded = {name.split(".")[0] for name in json.loads(run_python(code))}
    assert not loaded & set(HEAVY)


def test_help_loads_nothing_heavy():
    code = (
        "import sys, json\n"
        "from hatscore.cli import main\n"
        "try:\n    main(['run', '--help'])\n"
        "except SystemExit as end:\n    assert end.code == 0\n"
        "print(json.dumps(sorted(sys.modules)))"
    )
    loaded = {name.split(".")[0] for name in json.loads(run_python(code).splitlines()[-1])}
    assert not loaded & {"scipy", "polars", "aiohttp", "altair", "vl_convert", "babel"}


def test_public_names_are_sorted_complete_and_load():
    assert hatscore.__all__ == sorted(hatscore.__all__)
    for name in hatscore.__all__:
        assert getattr(hatscore, name) is not None
    assert dir(hatscore) == hatscore.__all__
    with pytest.raises(AttributeError, match="no attribute 'hat_scor'"):
        _ = hatscore.hat_scor


def test_map_names_every_module():
    text = (ROOT / "ARCHITECTURE.md").read_text(encoding="utf-8")
    missing = [
        str(p.relative_to(PACKAGE))
        for p in modules()
        if p.name not in ("__init__.py", "__main__.py") and p.name not in text
    ]
    assert not missing


def test_no_module_holds_two_concepts():
    long = {
        str(p.relative_to(PACKAGE)): lines
        for p in modules()
        if (lines := len(p.read_text(encoding="utf-8").splitlines())) > 500
    }
    assert not long


def run_python(code):
    return subprocess.run(
        [sys.executable, "-c", code], check=True, capture_output=True, text=True
    ).stdout
