"""Whether the kernel is the one that a distribution requires."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from packaging.version import Version

import deepagents_kernel
from deepagents_kernel.plugins.requirements import refusal

OLD, NEW, EITHER = (
    "pip install -U deepagents-kernel",
    "newer release of the package",
    "a version of the package that",
)


@pytest.mark.parametrize(
    ("requirement", "kernel"),
    [
        ("deepagents-kernel", "0.1.0"),
        ("deepagents-kernel>=0.1", "0.1.0"),
        ("Deepagents_Kernel>=0.1", "0.1.0"),
        ("deepagents-kernel[anthropic]<1,>=0.1", "0.9"),
        ("deepagents-kernel ~= 0.1.0", "0.1.7"),
        ("deepagents-kernel (>=0.1)", "0.1"),
        ("deepagents-kernel>=0.1", "0.2.0.dev1"),
        ("deepagents-kernel>=0.2.0a1", "0.2.0rc1"),
        ("deepagents-kernel>=0.1", "0.1+local.1"),
        ("deepagents-kernel @ https://example.org/deepagents_kernel-9-py3-none-any.whl", "0.1"),
        ("deepagents-kernel>=9; extra == 'new'", "0.1"),
        ("deepagents-kernel>=9; python_version < '3'", "0.1"),
        ("deepagents-kernel>=9; python_version < '3' or extra == 'new'", "0.1"),
        ("another-kernel>=9", "0.1"),
    ],
)
def test_a_kernel_that_will_do(requirement, kernel):
    assert refusal([requirement], kernel) is None


@pytest.mark.parametrize(
    ("requirement", "kernel", "needs", "hint"),
    [
        ("deepagents-kernel>=9", "0.1.0", ">=9", OLD),
        ("deepagents_kernel >= 9", "0.1.0", ">=9", OLD),
        ("deepagents-kernel>0.1", "0.1", ">0.1", OLD),
        ("deepagents-kernel~=1.2", "1.1", "~=1.2", OLD),
        ("deepagents-kernel==1.*", "0.9", "==1.*", OLD),
        ("deepagents-kernel>=0.2", "0.2.0.dev1", ">=0.2", OLD),
        ("deepagents-kernel>=9; python_version > '3'", "0.1", ">=9", OLD),
        ("deepagents-kernel<0.1", "0.1.0", "<0.1", NEW),
        ("deepagents-kernel<=0.1", "0.2", "<=0.1", NEW),
        ("deepagents-kernel<0.2", "0.2.0.dev1", "<0.2", NEW),
        ("deepagents-kernel~=1.2", "2.0", "~=1.2", NEW),
        ("deepagents-kernel==1.2", "1.3", "==1.2", NEW),
        ("deepagents-kernel!=0.1", "0.1", "!=0.1", EITHER),
        ("deepagents-kernel===local", "0.1", "===local", EITHER),
    ],
)
def test_a_kernel_that_will_not_do_and_in_which_direction(requirement, kernel, needs, hint):
    reason, way_out = refusal([requirement], kernel)
    assert reason == f"needs deepagents-kernel{needs}, this is {kernel}"
    assert hint in way_out


def test_a_range_is_told_as_a_whole_and_by_the_side_that_fails():
    reason, way_out = refusal(["deepagents-kernel>=2,<3"], "1.0")
    assert ">=2" in reason
    assert "<3" in reason
    assert OLD in way_out
    assert NEW in refusal(["deepagents-kernel>=2,<3"], "3.0")[1]
    assert EITHER in refusal(["deepagents-kernel>=3,<2"], "2.5")[1]


def test_the_first_requirement_that_fails_is_told():
    requirements = ["deepagents-kernel>=0.1", "deepagents-kernel<0.5", "deepagents-kernel>=9"]
    assert refusal(requirements, "0.6")[0].startswith("needs deepagents-kernel<0.5")


@pytest.mark.parametrize(
    "requirement",
    [
        "",
        "deepagents-kernel>=",
        "deepagents-kernel 0.1",
        "deepagents-kernel>=one",
        "deepagents-kernel>=1; no_such_variable == '1'",
        "deepagents-kernel>=1; sys_platform ~= 'linux'",
        "deepagents-kernel>=1; extra ==",
    ],
)
def test_what_cannot_be_read_is_refused(requirement):
    reason, way_out = refusal(["deepagents-kernel", requirement], "9.0")
    assert reason.startswith(f"its requirement {requirement!r} can't be read: ")
    assert "\n" not in reason
    assert "metadata of the package are broken" in way_out


VERSIONS = st.builds(
    lambda release, suffix: ".".join(map(str, release)) + suffix,
    st.lists(st.integers(0, 3), min_size=1, max_size=3),
    st.sampled_from(["", ".dev1", "a1", "rc2", ".post1"]),
)


@given(VERSIONS, VERSIONS)
def test_at_least_means_what_the_order_of_versions_says(wanted, kernel):
    refused = refusal([f"deepagents-kernel>={wanted}"], kernel)
    assert (refused is None) == (Version(kernel) >= Version(wanted))
    assert refused is None or OLD in refused[1]


@given(st.text(max_size=40))
def test_no_text_raises(text):
    result = refusal([f"deepagents-kernel{text}"], "0.1")
    assert result is None or all(result)


def test_nothing_is_imported_until_something_has_to_be_compared():
    code = (
        "import sys\nfrom deepagents_kernel.plugins.requirements import refusal\n"
        "assert refusal((), '0.1') is None\nassert 'packaging' not in sys.modules"
    )
    core = str(Path(deepagents_kernel.__file__).parents[1])
    subprocess.run([sys.executable, "-c", code], env={"PYTHONPATH": core}, check=True)
