"""What the pages of the documentation hold: fenced blocks, and the commands in them."""

from __future__ import annotations

import re
import shlex
from dataclasses import dataclass
from itertools import takewhile
from pathlib import Path
from typing import TYPE_CHECKING

import click

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

ROOT = Path(__file__).parents[1]
DOCS = ROOT / "docs"

# An older page or the README has commands in a block without an info string: it is one of
# commands if it begins with one of these.
SHELL_WORDS = ("|", ">", ">>", "2>", "&&", "||", ";")
PROGRAMS = ("hatscore", "inspect", "make", "pip", "python")

_FENCE = re.compile(
    r"(?:^[ ]*<!-- not run: (?P<why>[^\n]*?) -->\n)?"
    r"^(?P<indent>[ ]*)```(?P<language>\w*)(?:[ ]title=\"(?P<title>[^\"\n]+)\")?[ ]*\n"
    r"(?P<text>.*?)^(?P=indent)```[ ]*$",
    re.MULTILINE | re.DOTALL,
)


@dataclass(frozen=True)
class Block:
    """A fenced block: what stands in it, and why it is not run, where that is said."""

    page: str
    line: int
    language: str
    title: str
    text: str
    why_not_run: str

    @property
    def commands(self) -> list[Command]:
        """The commands of a block of commands, none of any other."""
        if self.language == "console":
            return list(_prompted(self))
        first = self.text.split(maxsplit=1)[:1]
        if self.language not in ("", "sh", "bash") or not first or first[0] not in PROGRAMS:
            return []
        lines = self.text.replace("\\\n", " ").splitlines()
        return [Command(self, line, "") for line in lines if line.strip()]


@dataclass(frozen=True)
class Command:
    """What a reader types, and the lines that the page shows below it."""

    block: Block
    line: str
    shown: str

    @property
    def words(self) -> list[str]:
        return shlex.split(self.line, comments=True)

    @property
    def program(self) -> str:
        return Path(self.words[0]).name if self.words else ""

    def __str__(self) -> str:
        return f"{self.block.page}:{self.block.line}: {self.line}"


def pages() -> list[str]:
    """Every page with a block, as a path from the root."""
    found = ["README.md", *(str(path.relative_to(ROOT)) for path in sorted(DOCS.rglob("*.md")))]
    return [page for page in found if blocks(page)]


def blocks(page: str) -> list[Block]:
    text = (ROOT / page).read_text(encoding="utf-8")
    return [
        Block(
            page,
            text.count("\n", 0, found.start("language")) + 1,
            found["language"],
            found["title"] or "",
            re.sub(rf"^{found['indent']}", "", found["text"], flags=re.MULTILINE),
            found["why"] or "",
        )
        for found in _FENCE.finditer(text)
    ]


def commands(page: str) -> list[Command]:
    return [command for block in blocks(page) for command in block.commands]


def _prompted(block: Block) -> Iterator[Command]:
    for part in re.split(r"^\$ ", block.text, flags=re.MULTILINE)[1:]:
        line, _, shown = part.replace("\\\n", " ").partition("\n")
        yield Command(block, line, shown.rstrip("\n"))


def parse(words: Sequence[str]) -> None:
    """Let click parse a command line of hatscore, up to a pipe, without running it.

    Raises
    ------
    click.UsageError
        A command, an option or a value that hatscore does not know.
    """
    from hatscore.cli import cli

    command: click.Command = cli
    name, parent = "hatscore", None
    rest = list(takewhile(lambda word: word not in SHELL_WORDS, words))
    try:
        while isinstance(command, click.Group):
            parent = command.make_context(name, list(rest), parent=parent)
            rest = [*getattr(parent, "_protected_args", ()), *parent.args]
            if not rest:
                return
            found, inner, rest = command.resolve_command(parent, rest)
            assert found
            assert inner is not None
            name, command = found, inner
        command.make_context(name, list(rest), parent=parent)
    except click.exceptions.Exit:
        # --help and --version
        return
