"""``python -m deepagents_kernel``: the same as the ``deepagents-kernel`` command."""

import os
import sys


def _forget_working_directory() -> None:
    # "python -m" puts the working directory in front of what is installed, and the command does not. It may
    # be the workspace: a module that an agent wrote there would be imported in place of an installed one of
    # its name, and a distribution found there would be as good as installed. With -P it is not there.
    if sys.flags.safe_path or not sys.path:
        return
    try:
        working = os.getcwd()  # noqa: PTH109 - pathlib would be imported from there
    except OSError:
        working = ""
    if sys.path[0] in {"", working}:
        del sys.path[0]


if __name__ == "__main__":
    # Before any other import.
    _forget_working_directory()
    from deepagents_kernel.cli.entry import main

    main()
