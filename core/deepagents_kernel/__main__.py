"""``python -m deepagents_kernel``: the same as the ``deepagents-kernel`` command."""

from deepagents_kernel.cli.entry import main

if __name__ == "__main__":
    main()
