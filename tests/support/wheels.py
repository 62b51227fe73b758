"""Wheels of the packages in ``contrib``, built and installed as their users would, without a network."""

import os
import sys

from deepagents_kernel.testing.processes import run_process


def install(environment, source, folder):
    """Build the package in *source* into *folder* and install it with pip."""
    command = [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(folder)]
    done = run_process(command, env=dict(os.environ), cwd=source, timeout=120)
    assert done.returncode == 0, done.stderr
    (wheel,) = folder.glob("*.whl")
    done = environment.run("-m", "pip", "install", "--no-index", "--no-deps", "--no-cache-dir", wheel)
    assert done.returncode == 0, done.stderr
