"""The command line: one module per command, imported when it is asked for."""

from __future__ import annotations

import errno
import sys
import warnings
from importlib import import_module
from typing import TYPE_CHECKING, TextIO

import click

from hatscore.errors import HatscoreError

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["EXIT_INCOMPLETE", "EXIT_USAGE", "main"]

COMMANDS = {
    "benchmarks": "What can be asked: versions, languages, licences.",
    "card": "Print a section for a model's card.",
    "compare": "Compare two models, paired on items; gates for pipelines.",
    "completion": "Print the script that completes hatscore's words in a shell.",
    "convert": "Write runs and logs as one table, or in another tool's format.",
    "demo": "Measure a small real model on this machine and write the page.",
    "doctor": "Say what works on this machine and what to do.",
    "figure": "Draw one chart as PNG, SVG or PDF.",
    "judge": "Let models judge stored replies.",
    "models": "What is known of models: size, date, settings, prices.",
    "plan": "What a run will cost and how sharp it will be.",
    "report": "Write the page and the figures.",
    "run": "Sample a model, then score and report.",
    "schema": "Print the JSON schema of a command's output.",
    "score": "Print the scores of runs.",
    "study": "Ask what drives transfer across models: size, time, thinking, script.",
    "view": "Show the page of runs in a browser, with the items behind each score.",
}
EXIT_INCOMPLETE = 1
EXIT_USAGE = 2


class _Commands(click.Group):
    """Commands by name, with their help known before they are imported."""

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002 - click's signature
        return sorted(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in COMMANDS:
            if ctx.resilient_parsing:  # a shell completes: it wants words, not errors
                return None
            from difflib import get_close_matches

            near = get_close_matches(cmd_name, COMMANDS, n=2, cutoff=0.5)
            hint = f" Did you mean {' or '.join(near)}?" if near else ""
            ctx.fail(f"No such command {cmd_name!r}.{hint} Known: {', '.join(COMMANDS)}.")
        command: click.Command = import_module(f"hatscore.cli.{cmd_name}").command
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:  # noqa: ARG002
        with formatter.section("Commands"):
            formatter.write_dl(sorted(COMMANDS.items()))


def _print_version(ctx: click.Context, parameter: click.Parameter, value: object) -> None:  # noqa: ARG001 - click's signature
    if value:
        from hatscore.cli.version import version_text

        click.echo(version_text())
        ctx.exit()


@click.group(cls=_Commands, context_settings={"help_option_names": ["-h", "--help"]})
@click.option(
    "--version",
    is_flag=True,
    is_eager=True,
    expose_value=False,
    callback=_print_version,
    help="Print the versions of hatscore and of what it stands on, and exit.",
)
def cli() -> None:
    """Measure how much of what a model can do in one language survives in another.

    Exit codes: 0 done; 1 a gate failed or the run is incomplete; 2 wrong use or unusable input.
    """


def _say(  # noqa: PLR0917 - the signature of warnings.showwarning
    message: Warning | str,
    category: type[Warning],
    filename: str,
    lineno: int,
    file: TextIO | None = None,  # noqa: ARG001 - the same
    line: str | None = None,
) -> None:
    """Show what concerns the user as a sentence, without the line of code that said it."""
    ours = category is UserWarning
    where = warnings.formatwarning(message, category, filename, lineno, line).rstrip()
    click.echo(f"Warning: {message}" if ours else where, err=True)


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the command line and exit; errors of ours end with one message and exit code 2."""
    try:
        with warnings.catch_warnings():
            warnings.showwarning = _say
            code = cli.main(args=arguments, prog_name="hatscore", standalone_mode=False)
    except click.ClickException as error:
        error.show()
        code = error.exit_code
    except HatscoreError as error:
        click.echo(f"Error: {error}", err=True)
        code = EXIT_USAGE
    except (click.Abort, KeyboardInterrupt):
        click.echo("Interrupted. What was sampled is kept: the same command goes on.", err=True)
        code = EXIT_INCOMPLETE
    except BrokenPipeError:
        # whoever read our output has seen enough
        sys.stderr.close()
        code = 0
    except OSError as error:
        click.echo(f"Error: {_system_error(error)}", err=True)
        code = EXIT_USAGE
    sys.exit(code if isinstance(code, int) else 0)


_TODO = {
    errno.ENOENT: "make the directory first, or give one that exists",
    errno.ENOTDIR: "a part of the path is a file; give a path through directories",
    errno.EEXIST: "something else lies there; move it away, or give another path",
    errno.EISDIR: "give a file in it, not the directory",
    errno.EACCES: "ask for the right to it, or give another path",
    errno.EPERM: "ask for the right to it, or give another path",
    errno.EROFS: "give a path that can be written to",
    errno.ENOSPC: "make room and give the command again, or give a path on another disk",
    errno.EDQUOT: "make room and give the command again, or give a path on another disk",
}


def _system_error(error: OSError) -> str:
    """Return what the system refused, of which file, and what to do."""
    # libraries in other languages give the whole sentence and no number
    said = error.strerror or str(error) or type(error).__name__
    where = error.filename2 or error.filename
    todo = _TODO.get(error.errno or 0)
    return (f"{where}: " if where else "") + said + (f"; {todo}" if todo else "")
