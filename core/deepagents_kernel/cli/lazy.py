"""Groups of commands that import a command when it is called."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any, cast

import click

from deepagents_kernel.cli.call import CommandError
from deepagents_kernel.errors import nearest_hint

if TYPE_CHECKING:
    from collections.abc import Mapping


class LazyGroup(click.Group):
    """A group with a table of commands; a misspelt one is an error that offers the nearest.

    Args:
        table: name to ("module:attribute", one line).
    """

    def __init__(self, *args: Any, table: Mapping[str, tuple[str, str]], **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.table = table

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Names of all commands."""
        return sorted({*self.table, *self.others(ctx)})

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """The command of that name; others are asked for only if the table lacks it."""
        if cmd_name in self.table:
            module, _, attribute = self.table[cmd_name][0].partition(":")
            return cast("click.Command", getattr(importlib.import_module(module), attribute))
        return self.others(ctx).get(cmd_name)

    def others(self, _ctx: click.Context) -> Mapping[str, click.Command]:
        """Commands that are not in the table."""
        return {}

    def get_help_option(self, ctx: click.Context) -> click.Option | None:
        """The option ``--help``, which is looked at behind those that change what there is to show."""
        option = super().get_help_option(ctx)
        if option is not None:
            option.is_eager = False
        return option

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Parse; no arguments at all stand for ``--help``."""
        return super().parse_args(ctx, args or ["--help"])

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """The command that *args* name."""
        name, *rest = args
        command = self.get_command(ctx, name)
        if command is None:
            known = self.list_commands(ctx)
            hint = nearest_hint(name, known) or f"there are: {', '.join(known)}"
            # The name of this group without that of the program: "plugins lst" has no command "lst".
            group = " ".join(ctx.command_path.split()[1:])
            raise CommandError(f"no command named {f'{group} {name}'.strip()!r}; {hint}")
        return name, command, rest

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """List the commands without importing those of the table."""
        rows = {name: text for name, (_, text) in self.table.items()}
        for name, command in self.others(ctx).items():
            rows[name] = command.get_short_help_str(limit=80)
        with formatter.section("Commands"):
            formatter.write_dl(sorted(rows.items()))
