"""What the commands share: one call of the command, its errors, its common options."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

from deepagents_kernel.cli.codes import ExitCode
from deepagents_kernel.cli.output import Output, one_line
from deepagents_kernel.errors import DeepAgentsError

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from deepagents_kernel.config.source import Configuration
    from deepagents_kernel.kernel import Kernel
    from deepagents_kernel.plugins.catalog import Catalog

CommandT = TypeVar("CommandT", bound=click.Command)
AnyT = TypeVar("AnyT", bound="Callable[..., Any]")


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
        single: ``-p NAME`` (true) and ``-p no:NAME`` (false), in order.
        config: the file that ``--config`` names.
        trust_workspace: whether configuration in the workspace is read.
        plugin_commands: commands of plugins by name; ``None`` until somebody asks for them.
        foreign: whether a command of a plugin is at work, which may end the process as it likes.
    """

    def __init__(self) -> None:
        self.output = Output()
        self.debug = False
        self.single: list[tuple[str, bool]] = []
        self.config: str | None = None
        self.trust_workspace = False
        self.plugin_commands: dict[str, click.Command] | None = None
        self.foreign = False
        self._kernels: dict[Path | None, Kernel] = {}

    def configuration(self, workspace: Path | None = None) -> Configuration:
        """What files, environment and options say.

        Raises:
            ConfigError: one of them can't be read, or says what it can't say.
        """
        from deepagents_kernel.config.load import load_for_command

        return load_for_command(
            directory=working_directory(),
            workspace=workspace,
            trust_workspace=self.trust_workspace,
            config=self.config,
            environ=os.environ,
            single=self.single,
        )

    def catalog(self) -> Catalog:
        """Every plugin that is known, with its state; no plugin is imported.

        Raises:
            DeepAgentsError: configuration or a lock file can't be read.
        """
        from deepagents_kernel.plugins.locks import locks_of

        configuration = self.configuration()
        return read_catalog(configuration, locks_of(configuration))

    def kernel(self, workspace: Path | None = None) -> Kernel:
        """The kernel of this call, made once; what is missing in it is said on standard error.

        Args:
            workspace: the folder that an agent works in; configuration in it is not read.

        Raises:
            DeepAgentsError: it can't be built.
        """
        if workspace not in self._kernels:
            from deepagents_kernel.cli.kernel import make_kernel

            self._kernels[workspace] = make_kernel(self, workspace)
        return self._kernels[workspace]

    def close(self) -> None:
        """Tell the plugins of this call that it is over."""
        for kernel in self._kernels.values():
            kernel.close()

    def warn(self, text: str) -> None:
        """Write a warning in one line."""
        self.output.warning(one_line(text))


def read_catalog(configuration: Configuration, locks: Sequence[Any] = ()) -> Catalog:
    """Every plugin that is known, as a configuration and lock files decide."""
    from deepagents_kernel._builtin import load_table
    from deepagents_kernel.plugins.catalog import make_catalog
    from deepagents_kernel.plugins.installed import scan

    return make_catalog(load_table(), {}, scan(), configuration, locks=locks)


def working_directory() -> Path:
    """Where the search for a project's file begins; the root when the working directory was deleted."""
    try:
        return Path.cwd()
    except OSError:
        return Path(os.sep)


def common_options(command: CommandT) -> CommandT:
    """Give *command* the options ``-p``, ``--config`` and ``--debug``."""
    command.params += [
        click.Option(
            ["-p", "single"],
            multiple=True,
            metavar="NAME",
            is_eager=True,
            expose_value=False,
            callback=_add_single,
            help="Switch a plugin on for this call, or off: no:NAME. May be repeated.",
        ),
        click.Option(
            ["--config"],
            metavar="FILE",
            is_eager=True,
            expose_value=False,
            callback=_set_config,
            help="Read this file in place of the project's.",
        ),
        click.Option(
            ["--debug"],
            is_flag=True,
            is_eager=True,
            expose_value=False,
            callback=_switch_debug,
            help="Show the traceback of an error.",
        ),
    ]
    return command


def trust_option(command: CommandT) -> CommandT:
    """Give *command* the option ``--trust-workspace``."""
    command.params.append(
        click.Option(
            ["--trust-workspace"],
            is_flag=True,
            expose_value=False,
            callback=_trust,
            help="Read configuration from the workspace as well.",
        )
    )
    return command


def json_option(help_text: str) -> Callable[[AnyT], AnyT]:
    """What gives a command the option ``--json``, with which standard output is its result and nothing else.

    Args:
        help_text: what the help says.
    """
    option: Callable[[AnyT], AnyT] = click.option(
        "--json", "as_json", is_flag=True, callback=_keep_output, help=help_text
    )
    return option


def profile_option(command: AnyT) -> AnyT:
    """Give a command, or the function that becomes one, the option ``--profile``."""
    help_text = "Put the harness profile in this file (TOML, YAML, JSON) on top."
    option: Callable[[AnyT], AnyT] = click.option("--profile", metavar="FILE", help=help_text)
    return option(command)


def _add_single(context: click.Context, _parameter: click.Parameter, values: Sequence[str]) -> None:
    for text in values:
        off = text.startswith("no:")
        name = text.removeprefix("no:").strip()
        if not name:
            msg = f"-p {text!r} names no plugin; write -p NAME or -p no:NAME"
            raise CommandError(msg)
        context.ensure_object(Call).single.append((name, not off))


def _set_config(context: click.Context, _parameter: click.Parameter, value: str | None) -> None:
    if value is not None:
        context.ensure_object(Call).config = value


def _switch_debug(context: click.Context, _parameter: click.Parameter, value: object) -> None:
    if value:
        context.ensure_object(Call).debug = True


def _keep_output(context: click.Context, _parameter: click.Parameter, value: object) -> object:
    if value:
        context.ensure_object(Call).output.keep_to_itself()
    return value


def _trust(context: click.Context, _parameter: click.Parameter, value: object) -> None:
    if value:
        context.ensure_object(Call).trust_workspace = True
