"""What the commands share: one call of the command, its errors, its common option."""

from __future__ import annotations

import click

from deepagents_kernel.cli.codes import ExitCode
from deepagents_kernel.cli.output import Output
from deepagents_kernel.errors import DeepAgentsError


class CommandError(DeepAgentsError):
    """A command ends with a message and an exit code.

    Attributes:
        code: the exit code of the process.
    """

    def __init__(self, message: str, code: ExitCode = ExitCode.USAGE) -> None:
        self.code = code
        super().__init__(message)


class Call:
    """One call of the command.

    Attributes:
        output: the streams to write to.
        debug: whether a traceback is wanted.
        plugin_commands: commands of plugins by name; ``None`` until somebody asks for them.
    """

    def __init__(self) -> None:
        self.output = Output()
        self.debug = False
        self.plugin_commands: dict[str, click.Command] | None = None


def debug_option(command: click.Command) -> click.Command:
    """Give *command* the option ``--debug``."""
    command.params.append(
        click.Option(
            ["--debug"],
            is_flag=True,
            is_eager=True,
            expose_value=False,
            callback=_switch_debug,
            help="Show the traceback of an error.",
        )
    )
    return command


def _switch_debug(context: click.Context, _parameter: click.Parameter, value: object) -> None:
    if value:
        context.ensure_object(Call).debug = True
