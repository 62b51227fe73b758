"""Small distributions as third parties publish them: good ones, and every way in which one can be bad."""

from deepagents_kernel.testing import Distribution

GROUP = "deepagents.plugins"
KERNEL = "deepagents-kernel>=0.0.1"


def package(name, plugins, modules, *, version="1.0", requires=(KERNEL,), **groups):
    """A distribution with these plugins: entry-point name to target."""
    return Distribution(name, version, modules, {GROUP: plugins, **groups}, requires)


def one(name, plugin, source, **options):
    """A distribution of one plugin in one module."""
    module = name.replace("-", "_")
    return package(name, {plugin: module}, {f"{module}.py": source}, **options)


def middleware(name):
    """A plugin that adds a middleware of that name."""
    return f"""
from deepagents_kernel import MiddlewareSpec, Segment, hookimpl
from langchain.agents.middleware import AgentMiddleware

class {name}(AgentMiddleware):
    pass

@hookimpl
def deepagents_middleware():
    return MiddlewareSpec("{name}", {name}, lambda _: {name}(), segment=Segment.TAIL)
"""


GOOD = one("deepagents-good", "middleware.good", middleware("Good"), version="0.3.1")
BROKEN_IMPORT = one("deepagents-broken", "middleware.broken", "import boto33\n", version="1.2.0")
RAISING_HOOK = one(
    "deepagents-raising",
    "middleware.raising",
    """
from deepagents_kernel import hookimpl

@hookimpl
def deepagents_middleware(context):
    raise RuntimeError("no ink in stack " + context.path)
""",
)
WRONG_ARGUMENT = one(
    "deepagents-argument",
    "middleware.argument",
    "from deepagents_kernel import hookimpl\n\n"
    "@hookimpl\ndef deepagents_middleware(contxt):\n    return None\n",
)
TOO_NEW = one(
    "deepagents-new", "middleware.new", "raise SystemExit('imported')\n", requires=("deepagents-kernel>=99",)
)
TOO_OLD = one(
    "deepagents-old",
    "middleware.old",
    "raise SystemExit('imported')\n",
    requires=("deepagents-kernel<0.0.1",),
)
CLASH_BUILTIN = one("deepagents-usurper", "middleware.filesystem", "raise SystemExit('imported')\n")
CLASH_A = one("deepagents-clash-a", "middleware.clash", "raise SystemExit('imported')\n", version="1.0")
CLASH_B = one("deepagents-clash-b", "middleware.clash", "raise SystemExit('imported')\n", version="2.0")
SLOW = one("deepagents-slow", "middleware.slow", "import time\ntime.sleep(0.4)\n" + middleware("Slow"))
LOUD = one(
    "deepagents-loud",
    "middleware.loud",
    "import os, subprocess, sys\n"
    "print('LOUD print')\n"
    "os.write(1, b'LOUD write\\n')\n"
    "subprocess.run([sys.executable, '-c', 'print(\"LOUD child\")'], check=True)\n" + middleware("Loud"),
)
NO_REQUIREMENT = one("deepagents-free", "middleware.free", middleware("Free"), requires=())
INTERRUPT = one("deepagents-interrupt", "middleware.interrupt", "raise KeyboardInterrupt\n")
EXIT = one("deepagents-exit", "middleware.exit", "raise SystemExit(7)\n")

CONVENTION = Distribution(
    "deepagents-convention",
    "1.0",
    {
        "deepagents_convention.py": """
from deepagents_kernel import HarnessProfile, ProviderProfile
from deepagents_kernel import register_harness_profile, register_provider_profile

def provider():
    register_provider_profile("acme", ProviderProfile(init_kwargs={"timeout": 5}))

def harness():
    register_harness_profile("scripted", HarnessProfile(excluded_tools={"grep"}))
"""
    },
    {
        "deepagents.provider_profiles": {"acme": "deepagents_convention:provider"},
        "deepagents.harness_profiles": {"acme": "deepagents_convention:harness"},
    },
)

DECLARES = one(
    "deepagents-greeter",
    "bundle.greeter",
    """
from deepagents_kernel import PromptPart, hookimpl, hookspec

class Hooks:
    @hookspec
    def deepagents_greeting(self, context):
        '''A greeting for the prompt.'''

@hookimpl
def deepagents_addhooks(pluginmanager):
    pluginmanager.add_hookspecs(Hooks)

@hookimpl
def deepagents_system_prompt(context):
    for answer in context.hooks("deepagents_greeting", context=context):
        yield PromptPart(answer.value, slot="suffix")
""",
)
# Sorted before the one that declares: the order of loading must not matter.
IMPLEMENTS = one(
    "deepagents-a-greeting",
    "bundle.a-greeting",
    "from deepagents_kernel import hookimpl\n\n"
    "@hookimpl\ndef deepagents_greeting():\n    return 'Say ahoy.'\n",
)
IMPLEMENTS_MAYBE = one(
    "deepagents-a-greeting",
    "bundle.a-greeting",
    "from deepagents_kernel import hookimpl\n\n@hookimpl(optionalhook=True)\n"
    "def deepagents_greeting():\n    return 'Say ahoy.'\n",
)

BUNDLE = one(
    "deepagents-harbour",
    "bundle.harbour",
    middleware("Harbour")
    + """
from deepagents_kernel import BackendSpec, HarnessProfile
from deepagents_kernel.backends import FilesystemBackend

@hookimpl
def deepagents_backends():
    return BackendSpec("harbour", lambda path, options: FilesystemBackend(root_dir=path, virtual_mode=True))

@hookimpl
def deepagents_harness_profiles():
    return [("scripted", HarnessProfile(system_prompt_suffix="Mind the tide."))]

@hookimpl
def deepagents_subagents():
    return [{"name": "pilot", "description": "Knows the harbour.", "system_prompt": "You are a pilot."}]
""",
)
