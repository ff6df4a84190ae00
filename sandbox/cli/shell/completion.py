from __future__ import annotations

import click

_VARIABLE = "_SANDBOX_COMPLETE"


_HELP = """Print the script that completes commands, options and values in a SHELL.

\b
bash:  sandbox completion bash > ~/.local/share/bash-completion/completions/sandbox
zsh:   sandbox completion zsh > "${fpath[1]}/_sandbox"
fish:  sandbox completion fish > ~/.config/fish/completions/sandbox.fish
"""


@click.command(help=_HELP)
@click.argument("shell", type=click.Choice(("bash", "zsh", "fish")))
def completion(shell: str) -> None:
    from click.shell_completion import get_completion_class

    from sandbox.cli.sandbox_command import sandbox

    made = get_completion_class(shell)
    assert made is not None
    complete = made(sandbox, {}, "sandbox", _VARIABLE)
    click.echo(complete.source_template % complete.source_vars())
