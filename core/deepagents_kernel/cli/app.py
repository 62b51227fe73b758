"""The command itself: which sub-commands there are, and how errors end it."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

import click

from deepagents_kernel._version import __version__
from deepagents_kernel.cli.call import Call, CommandError, common_options
from deepagents_kernel.cli.codes import ExitCode
from deepagents_kernel.cli.lazy import LazyGroup
from deepagents_kernel.cli.output import PROGRAM, one_line
from deepagents_kernel.errors import DeepAgentsError

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence


_HOOK = "deepagents_cli_commands"

#: The kernel's own commands: name to ("module:attribute", one line). Imported when they are called.
COMMANDS: Mapping[str, tuple[str, str]] = {
    "doctor": ("deepagents_kernel.cli.doctor.command:doctor", "Look for what is wrong, and say what to do."),
    "plan": ("deepagents_kernel.cli.plan:plan", "Show what an agent would be made of, and why."),
    "plugins": ("deepagents_kernel.cli.plugins.group:plugins", "List, explain, switch and lock plugins."),
    "profiles": ("deepagents_kernel.cli.profiles.group:profiles", "List, show and explain profiles."),
    "run": ("deepagents_kernel.cli.run:run", "Let an agent work on a task in a folder."),
    "settings": ("deepagents_kernel.cli.settings:settings", "Show every setting, and who set it."),
}


class App(LazyGroup):
    """The group of all commands, which asks plugins for those that the kernel does not know."""

    def others(self, ctx: click.Context) -> Mapping[str, click.Command]:
        """Commands that plugins add, asked for once."""
        call = ctx.ensure_object(Call)
        if call.plugin_commands is None:
            call.plugin_commands = dict(_ask_plugins(call))
        return call.plugin_commands

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """The command that *args* name; that of a plugin runs with the kernel of this call."""
        name, command, rest = super().resolve_command(ctx, args)
        if name not in self.table:
            from deepagents_kernel.current import use_kernel

            ctx.with_resource(use_kernel(ctx.ensure_object(Call).kernel()))
        return name, command, rest

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
            result = super().main(list(args), **given)
        except (KeyboardInterrupt, click.Abort):
            call.output.error("interrupted")
            return ExitCode.INTERRUPTED
        except Exception as error:
            return _report(error, call)
        return result if isinstance(result, int) else ExitCode.OK


def _ask_plugins(call: Call) -> Iterator[tuple[str, click.Command]]:
    try:
        kernel = call.kernel()
    except DeepAgentsError as error:
        # Plugins that don't fit together must not take the kernel's own commands with them.
        call.output.warning(f"the commands of plugins are missing: {error}")
        return
    for plugin, ask in kernel.calls.each(_HOOK):
        try:
            found = ask()
        except DeepAgentsError as error:
            call.warn(f"the commands of plugin {plugin} are missing: {error}")
            continue
        yield from _checked(plugin, found, call)


def _checked(plugin: str, found: Iterable[Any], call: Call) -> Iterator[tuple[str, click.Command]]:
    for command in found:
        if not isinstance(command, click.Command) or not command.name:
            call.warn(f"plugin {plugin}: {type(command).__name__} is not a command")
        elif command.name in COMMANDS:
            call.warn(f"plugin {plugin}: the kernel has a command {command.name!r} already")
        else:
            yield command.name, command


def _report(error: Exception, call: Call) -> int:
    if call.debug:
        import traceback

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
    return f"{one_line(error.format_message()).rstrip('.')} (see {where} --help)"


@common_options
@click.command(cls=App, table=COMMANDS)
@click.version_option(__version__, prog_name=PROGRAM, message="%(prog)s %(version)s")
def app() -> None:
    """Plan, check and run agents made of plugins."""
