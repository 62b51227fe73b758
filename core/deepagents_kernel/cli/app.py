"""The command itself: which sub-commands there are, and how errors end it."""

from __future__ import annotations

import importlib
import sys
import traceback
from typing import TYPE_CHECKING, Any, cast

import click

from deepagents_kernel._version import __version__
from deepagents_kernel.cli.call import Call, CommandError
from deepagents_kernel.cli.codes import ExitCode
from deepagents_kernel.cli.output import PROGRAM
from deepagents_kernel.errors import DeepAgentsError, nearest_hint

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence


_HOOK = "deepagents_cli_commands"

#: The kernel's own commands: name to ("module:attribute", one line). Imported when they are called.
COMMANDS: Mapping[str, tuple[str, str]] = {
    "plan": ("deepagents_kernel.cli.plan:plan", "Show what an agent would be made of, and why."),
    "run": ("deepagents_kernel.cli.run:run", "Let an agent work on a task in a folder."),
}


class App(click.Group):
    """A group that imports a command when it is called, and asks plugins for those it does not know."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Names of all commands, those of plugins included."""
        return sorted({*COMMANDS, *_plugin_commands(ctx.ensure_object(Call))})

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """The command of that name; plugins are asked only for one that the kernel lacks."""
        if cmd_name in COMMANDS:
            module, _, attribute = COMMANDS[cmd_name][0].partition(":")
            return cast("click.Command", getattr(importlib.import_module(module), attribute))
        return _plugin_commands(ctx.ensure_object(Call)).get(cmd_name)

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """The command that *args* name; a misspelt one is an error that offers the nearest."""
        name, *rest = args
        command = self.get_command(ctx, name)
        if command is None:
            known = self.list_commands(ctx)
            hint = nearest_hint(name, known) or f"there are: {', '.join(known)}"
            raise CommandError(f"no command named {name!r}; {hint}")
        return name, command, rest

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """List the commands without importing the kernel's own."""
        rows = {name: text for name, (_, text) in COMMANDS.items()}
        for name, command in _plugin_commands(ctx.ensure_object(Call)).items():
            rows[name] = command.get_short_help_str(limit=80)
        with formatter.section("Commands"):
            formatter.write_dl(sorted(rows.items()))

    def main(self, args: Sequence[str] | None = None, *_: Any, **extra: Any) -> Any:
        """Run and exit, as click's own ``main`` does."""
        sys.exit(self.run(sys.argv[1:] if args is None else args, **extra))

    def run(self, args: Sequence[str], **extra: Any) -> int:
        """Run the command with *args*; every error ends as one message and an exit code.

        Args:
            args: arguments without the name of the program; none at all stands for ``--help``.
            **extra: settings of click's context.
        """
        call = Call()
        given = {**extra, "prog_name": PROGRAM, "standalone_mode": False, "obj": call}
        try:
            result = super().main(list(args) or ["--help"], **given)
        except (KeyboardInterrupt, click.Abort):
            call.output.error("interrupted")
            return ExitCode.INTERRUPTED
        except Exception as error:
            return _report(error, call)
        return result if isinstance(result, int) else ExitCode.OK


def _plugin_commands(call: Call) -> dict[str, click.Command]:
    """Commands that plugins add, asked for once."""
    if call.plugin_commands is None:
        call.plugin_commands = dict(_ask_plugins(call))
    return call.plugin_commands


def _ask_plugins(call: Call) -> Iterator[tuple[str, click.Command]]:
    from deepagents_kernel.api import get_kernel

    try:
        kernel = get_kernel()
    except DeepAgentsError as error:
        # Plugins that don't fit together must not take the kernel's own commands with them.
        call.output.warning(f"the commands of plugins are missing: {error}")
        return
    for plugin, ask in kernel.calls.each(_HOOK):
        try:
            found = ask()
        except DeepAgentsError as error:
            reason = " ".join(str(error).split())
            call.output.warning(f"the commands of plugin {plugin} are missing: {reason}")
            continue
        yield from _checked(plugin, found, call)


def _checked(plugin: str, found: Iterable[Any], call: Call) -> Iterator[tuple[str, click.Command]]:
    for command in found:
        if not isinstance(command, click.Command) or not command.name:
            call.output.warning(f"plugin {plugin}: {type(command).__name__} is not a command")
        elif command.name in COMMANDS:
            call.output.warning(f"plugin {plugin}: the kernel has a command {command.name!r} already")
        else:
            yield command.name, command


def _report(error: Exception, call: Call) -> int:
    if call.debug:
        call.output.traceback("".join(traceback.format_exception(error)))
    if isinstance(error, DeepAgentsError):
        call.output.error(str(error))
        return error.code if isinstance(error, CommandError) else ExitCode.USAGE
    if isinstance(error, click.ClickException):
        call.output.error(_usage(error))
        return ExitCode.USAGE
    hint = "" if call.debug else " (--debug shows where)"
    call.output.error(f"{type(error).__name__}: {error}{hint}")
    return ExitCode.FAILED


def _usage(error: click.ClickException) -> str:
    context = getattr(error, "ctx", None)
    where = context.command_path if context is not None else PROGRAM
    return f"{error.format_message().rstrip('.')} (see {where} --help)"


@click.command(cls=App)
@click.version_option(__version__, prog_name=PROGRAM, message="%(prog)s %(version)s")
def app() -> None:
    """Plan, check and run agents made of plugins."""
