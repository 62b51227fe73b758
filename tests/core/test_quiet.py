"""What third-party code writes while it is loaded stays away from standard output, on every level."""

from __future__ import annotations

import contextlib
import gc
import io
import logging
import os
import subprocess
import sys
import threading
from pathlib import Path

import pytest

import deepagents_kernel
from deepagents_kernel.plugins.quiet import third_party_output

CORE = str(Path(deepagents_kernel.__file__).parents[1])
HEAD = """
import contextlib, io, logging, os, subprocess, sys, threading
from deepagents_kernel.plugins.quiet import third_party_output
"""
POSIX = os.name == "posix"


def environment():
    """That of a process which holds its output back as usual, whatever the machine of the test is set to."""
    noise = {"PYTHONUNBUFFERED", "PYTHONWARNDEFAULTENCODING"}
    inherited = {name: value for name, value in os.environ.items() if name not in noise}
    return {**inherited, "PYTHONPATH": CORE, "PYTHONIOENCODING": "utf-8"}


def run(code, *, options=(), **keywords):
    """Both streams of a Python process, byte for byte."""
    command = [sys.executable, *options, "-c", HEAD + code]
    done = subprocess.run(command, capture_output=True, env=environment(), timeout=60, **keywords)
    done.stdout, done.stderr = done.stdout.replace(b"\r\n", b"\n"), done.stderr.replace(b"\r\n", b"\n")
    return done


def streams(code, **keywords):
    done = run(code, **keywords)
    assert done.returncode == 0, done.stderr.decode()
    return done.stdout, done.stderr


class Streams:
    """Stand-ins for both streams that have a buffer. Not a fixture: pytest would put its own in between."""

    def __init__(self, monkeypatch):
        self.out, self.err = (io.TextIOWrapper(io.BytesIO(), "utf-8", newline="\n") for _ in range(2))
        monkeypatch.setattr(sys, "stdout", self.out)
        monkeypatch.setattr(sys, "stderr", self.err)

    def texts(self):
        for stream in (self.out, self.err):
            stream.flush()
        return self.out.buffer.getvalue().decode(), self.err.buffer.getvalue().decode()


def say(text, **keywords):
    print(text, **keywords)  # noqa: T201


# -- processes -------------------------------------------------------------------------------------

WRITES = {
    "print": "print('inside')",
    "write": "sys.stdout.write('inside\\n')",
    "writelines": "sys.stdout.writelines(['ins', 'ide\\n'])",
    "buffer": "sys.stdout.buffer.write(b'inside\\n')",
    "raw": "sys.stdout.buffer.raw.write(b'inside\\n')",
    "underlying": "sys.__stdout__.write('inside\\n')",
    "descriptor": "os.write(1, b'inside\\n')",
    "fileno": "os.write(sys.stdout.fileno(), b'inside\\n')",
    "subprocess": "subprocess.run([sys.executable, '-c', 'print(\"inside\")'])",
    "handed on": "subprocess.run([sys.executable, '-c', 'print(\"inside\")'], stdout=sys.stdout)",
    "wrapper": "sys.stdout = io.TextIOWrapper(sys.stdout.buffer); print('inside')",
    "detached": "sys.stdout = io.TextIOWrapper(sys.stdout.detach()); print('inside')",
}
if POSIX:
    WRITES["echo"] = "subprocess.run(['echo', 'inside'])"
    WRITES["c"] = "import ctypes; ctypes.CDLL(None).printf(b'inside\\n')"


@pytest.mark.parametrize("how", WRITES)
@pytest.mark.parametrize("unbuffered", [False, True])
def test_what_is_written_inside_is_on_standard_error_and_nothing_else_is(how, unbuffered):
    code = f"print('before')\nwith third_party_output():\n    {WRITES[how]}\nprint('after')"
    out, err = streams(code, options=["-u"] if unbuffered else [])
    assert (out, err) == (b"before\nafter\n", b"inside\n")


def test_what_was_held_back_before_is_not_carried_along():
    code = """
sys.stdout.write("before\\n")
with third_party_output():
    # Somebody empties the real stream, while the descriptor below it leads elsewhere.
    sys.__stdout__.flush()
"""
    assert streams(code) == (b"before\n", b"")


def test_the_underlying_stream_of_a_process_that_has_put_another_in_front():
    code = """
with contextlib.redirect_stdout(io.StringIO()) as caught:
    print("before")
    with third_party_output():
        sys.__stdout__.write("inside\\n")
        print("inside")
print(caught.getvalue(), end="")
"""
    assert streams(code) == (b"before\n", b"inside\ninside\n")


def test_all_at_once_keep_their_order():
    code = """
sys.stdout.write("before, ")
with third_party_output():
    print("one")
    sys.stdout.flush()
    os.write(1, b"two\\n")
    subprocess.run([sys.executable, "-c", "print('three')"])
    print("four", end="")
sys.stdout.buffer.write(b"")
print("after")
"""
    assert streams(code) == (b"before, after\n", b"one\ntwo\nthree\nfour")


def test_a_logging_handler_made_at_load_writes_to_standard_output_later():
    code = """
with third_party_output():
    handler = logging.StreamHandler(sys.stdout)
    logging.getLogger().addHandler(handler)
    logging.warning("inside")
    write = sys.stdout.write
    buffer = sys.stdout.buffer
logging.warning("after")
write("method\\n")
sys.stdout.flush()
buffer.write(b"buffer\\n")
with third_party_output():
    logging.warning("again")
"""
    assert streams(code) == (b"after\nmethod\nbuffer\n", b"inside\nagain\n")


def test_another_thread_is_not_disturbed():
    code = """
started, stop = threading.Event(), threading.Event()
def speak():
    print("mine")
    started.set()
    stop.wait()
    for number in range(200):
        print("mine", number)
    sys.stdout.flush()
    os.write(1, b"descriptor\\n")
thread = threading.Thread(target=speak)
thread.start()
started.wait()
with third_party_output():
    stop.set()
    for number in range(200):
        print("inside", number)
    thread.join()
    # Other threads were alive, so the descriptor was left where it was.
    os.write(1, b"leaked\\n")
"""
    out, err = streams(code)
    mine = ["mine", *(f"mine {number}" for number in range(200)), "descriptor", "leaked"]
    assert out.decode().splitlines() == mine
    assert err.decode().splitlines() == [f"inside {number}" for number in range(200)]


def test_threads_that_print_meanwhile_never_write_to_a_freed_stream():
    # With what stands for standard output freed under them, the interpreter crashes within a few blocks.
    code = """
stop = threading.Event()
def speak():
    while not stop.is_set():
        print("mine", "more", 1, 2, 3)
threads = [threading.Thread(target=speak) for _ in range(2)]
for thread in threads:
    thread.start()
sys.setswitchinterval(1e-5)
for _ in range(1000):
    with third_party_output():
        [object() for _ in range(3000)]
stop.set()
for thread in threads:
    thread.join()
print("survived", file=sys.stderr)
"""
    command = [sys.executable, "-c", HEAD + code]
    streams = {"stdout": subprocess.DEVNULL, "stderr": subprocess.PIPE}
    done = subprocess.run(command, **streams, env=environment(), timeout=60)
    assert (done.returncode, done.stderr.split()) == (0, [b"survived"])


def test_a_thread_that_is_started_inside_is_another_one():
    code = """
with third_party_output():
    thread = threading.Thread(target=print, args=("thread",))
    thread.start()
    thread.join()
    print("inside")
print("after")
"""
    out, err = streams(code)
    # It is the only way in which it can't be told from one of the application; here the descriptor caught it.
    assert (out, sorted(err.splitlines())) == (b"after\n", [b"inside", b"thread"])


@pytest.mark.parametrize("error", ["ValueError", "KeyboardInterrupt", "SystemExit"])
def test_an_exception_restores_everything(error):
    code = f"""
before = sys.stdout
try:
    with third_party_output():
        print("inside")
        raise {error}
except {error}:
    pass
assert sys.stdout is before
print("after")
os.write(1, b"descriptor\\n") if sys.stdout.flush() is None else None
"""
    assert streams(code) == (b"after\ndescriptor\n", b"inside\n")


@pytest.mark.skipif(not POSIX, reason="signals")
def test_a_signal_while_a_plugin_loads_restores_everything():
    code = """
import signal
try:
    with third_party_output():
        print("inside")
        os.kill(os.getpid(), signal.SIGINT)
        while True:
            pass
except KeyboardInterrupt:
    print("after", flush=True)
os.write(1, b"descriptor\\n")
"""
    assert streams(code) == (b"after\ndescriptor\n", b"inside\n")


def test_a_wrapper_that_is_left_behind_closes_nothing():
    code = """
import gc
with third_party_output():
    sys.stdout = io.TextIOWrapper(sys.stdout.buffer)
    print("inside")
gc.collect()
print("after")
print("error", file=sys.stderr)
with third_party_output():
    sys.stdout.close()
    sys.stdout.buffer.close()
    with sys.stdout as stream:
        print("again", file=stream)
print("after")
"""
    assert streams(code) == (b"after\nafter\n", b"inside\nerror\nagain\n")


@pytest.mark.parametrize("closed", [[1], [2], [1, 2]])
def test_closed_descriptors(closed):
    code = f"""
for number in {closed}:
    os.close(number)
before = [number for number in (1, 2) if number not in {closed}]
with third_party_output():
    with contextlib.suppress(OSError):
        os.write(1, b"x\\n")
    subprocess.run([sys.executable, "-c", ""])
for number in {closed}:
    try:
        os.fstat(number)
    except OSError:
        continue
    raise SystemExit(f"{{number}} was opened")
for number in before:
    os.write(number, b"left\\n")
os._exit(0)
"""
    out, err = streams(code)
    # With standard error closed there is no other place for what is written below Python.
    assert out == {(1,): b"", (2,): b"x\nleft\n", (1, 2): b""}[tuple(closed)]
    assert err == {(1,): b"left\n", (2,): b"", (1, 2): b""}[tuple(closed)]


@pytest.mark.skipif(not POSIX, reason="the shell closes descriptors")
@pytest.mark.parametrize("closing", [">&-", "2>&-", ">&- 2>&-", "<&- 2>&-", "<&- >&- 2>&-"])
def test_a_process_that_is_started_without_them(closing, tmp_path):
    code = (
        f"{HEAD}\nwith third_party_output():\n    print('inside')\nprint('after')\nopen('done', 'w').close()"
    )
    script = tmp_path / "script.py"
    script.write_text(code, encoding="utf-8")
    command = ["sh", "-c", f'"$0" "$1" {closing}', sys.executable, str(script)]
    done = subprocess.run(command, capture_output=True, env=environment(), cwd=tmp_path, timeout=60)
    assert (tmp_path / "done").exists()
    assert done.stdout == (b"" if ">&-" in closing.replace("2>&-", "") else b"after\n")
    assert done.stderr == (b"" if "2>&-" in closing else b"inside\n")


# -- streams ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("stream", ["stdout", "stderr"])
def test_a_stream_that_is_none(monkeypatch, stream):
    both = Streams(monkeypatch)
    monkeypatch.setattr(sys, stream, None)
    with third_party_output():
        assert sys.stdout.write("inside\n") == 7
        say("more", flush=True)
    assert getattr(sys, stream) is None
    assert both.texts() == ("", "inside\nmore\n" if stream == "stdout" else "")


def test_others_write_nowhere_when_there_was_no_standard_output(monkeypatch):
    both = Streams(monkeypatch)
    monkeypatch.setattr(sys, "stdout", None)
    with third_party_output():
        other = threading.Thread(target=say, args=("lost",), kwargs={"flush": True})
        other.start()
        other.join()
    assert both.texts() == ("", "")


def test_uses_in_two_threads_may_overlap_in_any_order(monkeypatch):
    both = Streams(monkeypatch)
    inside, leave = threading.Event(), threading.Event()

    def load():
        with third_party_output():
            say("first")
            inside.set()
            leave.wait()
            say("last")

    with third_party_output():
        router = sys.stdout
        other = threading.Thread(target=load)
        other.start()
        inside.wait()
    # The other one is in it still, this one is out.
    assert sys.stdout is router
    say("mine")
    leave.set()
    other.join()
    assert sys.stdout is both.out
    assert both.texts() == ("mine\n", "first\nlast\n")


def test_nested_in_one_thread(monkeypatch):
    both = Streams(monkeypatch)
    with third_party_output():
        with third_party_output():
            say("inner")
        say("outer")
    say("after")
    assert both.texts() == ("after\n", "inner\nouter\n")


def test_whatever_is_put_in_place_is_taken_away_and_written_out(monkeypatch):
    both = Streams(monkeypatch)
    with third_party_output():
        sys.stdout = io.TextIOWrapper(sys.stdout.buffer, "utf-8", newline="\n")
        say("held back")
        with third_party_output():
            say("inner")
        sys.stdout = None
    assert sys.stdout is both.out
    gc.collect()
    assert not both.err.closed
    assert sorted(both.texts()[1].splitlines()) == ["held back", "inner"]


@pytest.mark.parametrize("alone", [True, False])
def test_nothing_is_held_back_when_the_block_is_left(monkeypatch, alone, request):
    both = Streams(monkeypatch)
    if not alone:
        leave = threading.Event()
        threading.Thread(target=leave.wait).start()
        request.addfinalizer(leave.set)
    with third_party_output():
        say("first")
        kept = sys.stdout = io.TextIOWrapper(sys.stdout.buffer, "utf-8", newline="\n")
        say("second")
    assert sorted(both.err.buffer.getvalue().splitlines()) == [b"first", b"second"]
    assert not kept.closed


def test_standard_error_that_was_made_the_same(monkeypatch):
    both = Streams(monkeypatch)
    monkeypatch.setattr(sys, "__stderr__", both.err)
    with third_party_output():
        sys.stderr = sys.stdout
        say("inside")
    assert both.texts() == ("", "inside\n")


def test_standard_error_is_looked_up_at_each_write(monkeypatch):
    both = Streams(monkeypatch)
    other = io.StringIO()
    with third_party_output(), contextlib.redirect_stderr(other):
        say("inside")
    assert (both.texts(), other.getvalue()) == (("", ""), "inside\n")


def test_attributes_are_those_of_the_stream_of_the_thread(monkeypatch):
    monkeypatch.setattr(sys, "stdout", io.TextIOWrapper(io.BytesIO(), "utf-8"))
    monkeypatch.setattr(sys, "stderr", io.TextIOWrapper(io.BytesIO(), "latin-1", errors="replace"))
    seen = []
    with third_party_output():
        kept = sys.stdout
        assert (kept.encoding, kept.errors, kept.closed, kept.isatty()) == (
            "latin-1",
            "replace",
            False,
            False,
        )
        assert {"write", "encoding", "buffer", "line_buffering"} <= set(dir(kept))
        assert not hasattr(kept, "no_such_name")
        assert not hasattr(kept, "getvalue")
        assert hasattr(kept.buffer, "getvalue")
        with pytest.raises(io.UnsupportedOperation):
            kept.fileno()
        with pytest.raises(io.UnsupportedOperation):
            kept.buffer.detach()
        other = threading.Thread(target=lambda: seen.append(sys.stdout.encoding))
        other.start()
        other.join()
    assert seen == [kept.encoding] == ["utf-8"]


def test_a_stream_without_a_buffer(monkeypatch):
    out, err = io.StringIO(), io.StringIO()
    monkeypatch.setattr(sys, "stdout", out)
    monkeypatch.setattr(sys, "stderr", err)
    with third_party_output():
        say("inside")
        assert not hasattr(sys.stdout, "buffer")
    assert (out.getvalue(), err.getvalue()) == ("", "inside\n")


def test_what_is_kept_from_one_use_follows_the_next_one(monkeypatch):
    both = Streams(monkeypatch)
    with third_party_output():
        handler = logging.StreamHandler(sys.stdout)
    record = logging.LogRecord("x", logging.INFO, "", 0, "text", (), None)
    handler.emit(record)
    with third_party_output():
        handler.emit(record)
    assert both.texts() == ("text\n", "text\n")


def test_under_the_capture_of_pytest(capfd):
    with third_party_output():
        say("python")
        sys.stdout.flush()
    say("after")
    out, err = capfd.readouterr()
    assert (out, err) == ("after\n", "python\n")


def test_a_broken_standard_error_is_the_error_of_who_writes(monkeypatch):
    both = Streams(monkeypatch)
    both.err.close()
    with third_party_output(), pytest.raises(ValueError, match="closed"):
        say("inside")
    assert sys.stdout is both.out


def test_one_stream_has_one_stand_in_and_that_stands_for_itself(monkeypatch):
    both = Streams(monkeypatch)
    seen = []
    for _ in range(2):
        with third_party_output():
            seen.append(sys.stdout)
    monkeypatch.setattr(sys, "stdout", seen[0])
    with third_party_output():
        seen.append(sys.stdout)
        say("inside")
    assert sys.stdout is seen[0] is seen[1] is seen[2]
    say("after")
    assert both.texts() == ("after\n", "inside\n")


@pytest.mark.parametrize("error", [SystemExit, GeneratorExit, RuntimeError, KeyboardInterrupt])
def test_a_stream_that_raises_when_it_is_flushed(monkeypatch, error):
    both = Streams(monkeypatch)

    class Fake(io.StringIO):
        def flush(self):
            raise error

    expected = pytest.raises(error) if error is KeyboardInterrupt else contextlib.nullcontext()
    with expected, third_party_output():
        sys.stdout = Fake()
    assert sys.stdout is both.out
    say("after")
    assert both.texts() == ("after\n", "")
