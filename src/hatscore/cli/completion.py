"""``hatscore completion``: the script that makes a shell complete hatscore's words."""

from __future__ import annotations

import click
from click.shell_completion import get_completion_class

__all__ = ["COMPLETE_VARIABLE", "command"]

COMPLETE_VARIABLE = "_HATSCORE_COMPLETE"
"""The variable through which a shell asks; its name is click's."""


@click.command("completion")
@click.argument("shell", type=click.Choice(["bash", "zsh", "fish"]))
def command(shell: str) -> None:
    """Print the completion script of SHELL.

    bash, in ~/.bashrc: eval "$(hatscore completion bash)"; zsh, in ~/.zshrc: the same with zsh;
    fish: hatscore completion fish > ~/.config/fish/completions/hatscore.fish
    """
    from hatscore.cli import cli

    found = get_completion_class(shell)
    if found is None:  # click knows all of the choices
        raise click.UsageError(f"click has no completion for {shell}")
    click.echo(found(cli, {}, "hatscore", COMPLETE_VARIABLE).source())
