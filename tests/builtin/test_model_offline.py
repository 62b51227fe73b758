"""The offline model in real agent loops, over small tools with the formats of the file tools.

``Reader`` below works out sizes and sentences from the files alone, by the rules that the modules state.
"""

import math
import random
import re
from collections import Counter

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from langchain.agents import create_agent
from langchain_core.messages import AIMessage, HumanMessage
from langchain_core.tools import ToolException, tool

from deepagents_builtin.models.offline import policy, reading, survey
from deepagents_builtin.models.offline.model import OfflineChatModel
from deepagents_builtin.models.offline.plugin import PLUGIN, deepagents_resolve_model
from deepagents_builtin.models.offline.sentences import rank
from deepagents_kernel.errors import ModelSpecError
from deepagents_kernel.models import get_model_identifier, get_model_provider
from deepagents_kernel.testing import ScriptedChatModel

TASK = "Explain the workspace.\nThen rest."


def given_answer(answer):
    if isinstance(answer, ToolException):
        raise answer
    return answer


class Workspace:
    """A file tree and tools over it; ``windows`` is what read_file shows at most in one call."""

    def __init__(self, files, *, windows=1000):
        self.files = dict(files)
        self.windows = windows
        self.reads = []
        self.answers = {}
        self.child_model = OfflineChatModel()

    def ls(self, path):
        if ("ls", path) in self.answers:
            return self.answers["ls", path]
        base = path.rstrip("/") + "/"
        rest = [name[len(base) :] for name in self.files if name.startswith(base)]
        found = {base + name.partition("/")[0] + ("/" if "/" in name else "") for name in rest}
        return str(sorted(found)) if found else "No files found"

    def read(self, path, offset, limit):
        self.reads.append((path, offset))
        if ("read", path) in self.answers:
            return given_answer(self.answers["read", path])
        if path not in self.files:
            raise ToolException(f"File '{path}' not found")
        lines = self.files[path].replace("\r\n", "\n").split("\n")
        lines = lines[:-1] if lines[-1] == "" else lines
        if not lines:
            return "Reminder: the file is empty."
        shown = lines[offset : offset + min(limit, self.windows)]
        last = offset + len(shown)
        more = f" | next offset {last}" if last < len(lines) else ""
        return "\n".join([f"@@ lines {offset + 1}-{last} of {len(lines)}{more} @@", *shown])

    def tools(self):
        @tool
        def ls(path: str):
            """List a folder."""
            return self.ls(path)

        @tool
        def read_file(file_path: str, offset: int = 0, limit: int = 100):
            """Read a file."""
            return self.read(file_path, offset, limit)

        @tool
        def write_file(file_path: str, content: str):
            """Write a file."""
            if "write" in self.answers:
                return given_answer(self.answers["write"])
            self.files[file_path] = content
            return f"Updated file {file_path}"

        @tool
        def task(description: str, subagent_type: str):
            """Delegate."""
            assert subagent_type == "general-purpose"
            if "task" in self.answers:
                return self.answers["task"]
            child = create_agent(self.child_model, [ls, read_file, write_file])
            return child.invoke({"messages": [HumanMessage(description)]})["messages"][-1].text

        tools = {each.name: each for each in (ls, read_file, write_file, task)}
        for each in tools.values():
            each.handle_tool_error = True
        return tools

    def agent(self, without=()):
        return create_agent(
            OfflineChatModel(), [each for name, each in self.tools().items() if name not in without]
        )

    def run(self, without=(), task=TASK):
        return self.agent(without).invoke({"messages": [HumanMessage(task)]})["messages"]

    @property
    def report(self):
        return self.files["/REPORT.md"]


class Reader:
    """An independent reading of the same files."""

    def __init__(self, files):
        self.lines = {
            path: text.replace("\r\n", "\n").removesuffix("\n").split("\n") for path, text in files.items()
        }
        self.lines = {path: lines for path, lines in self.lines.items() if files[path]}

    def sizes(self, path):
        text = "".join(line + "\n" for line in self.lines[path])
        return len(self.lines[path]), len(text), len(text.encode())

    def is_heading(self, path, number):
        line = self.lines[path][number - 1]
        if not path.endswith((".md", ".txt")):
            return re.match(r"\s*(async\s+def|def|class)\s+\w", line) is not None
        fences = sum(1 for above in self.lines[path][: number - 1] if above.strip()[:3] in ("```", "~~~"))
        return fences % 2 == 0 and re.match(r"#{1,6}\s+\S", line) is not None

    def sentences(self, path):
        paragraph = []
        for number, line in enumerate([*self.lines[path], ""], 1):
            bare = line.strip(" \t#>*-/\"'")
            if bare and not (number <= len(self.lines[path]) and self.is_heading(path, number)):
                paragraph += [(number, piece) for piece in re.split(r"(?<=[.!?])\s+", bare)]
                continue
            open_pieces = []
            for piece in paragraph:
                open_pieces.append(piece)
                if piece[1][-1:] in (".", "!", "?"):
                    yield open_pieces[0][0], " ".join(text for _, text in open_pieces)
                    open_pieces = []
            paragraph = []

    def best(self, paths, top=10):
        words = {p: Counter(re.findall(r"[^\W\d_]{4,}", "\n".join(self.lines[p]).casefold())) for p in paths}
        rows = []
        for path in paths:
            for line, text in self.sentences(path):
                own = set(re.findall(r"[^\W\d_]{4,}", text.casefold()))
                if not 30 <= len(text) <= 300 or len(own) < 5 or set("{}=;`") & set(text):
                    continue
                weights = [
                    (1 + words[path][w] / max(words[path].values()))
                    * math.log(1 + len(paths) / sum(1 for p in paths if words[p][w]))
                    for w in own
                ]
                rows.append((-round(math.fsum(weights) / len(own), 4), path, line, text))
        rows.sort(key=lambda row: row[:3])
        seen = set()
        unique = [row for row in rows if not (row[3] in seen or seen.add(row[3]))]
        return [(path, line, f"{-score:.4f}", text) for score, path, line, text in unique[:top]]


VOCABULARY = [
    *(
        "harness",
        "plugin",
        "kernel",
        "middleware",
        "filesystem",
        "backend",
        "profile",
        "delegation",
        "summary",
    ),
    *("permission", "window", "offset", "header", "sentence", "planner", "compiler", "registry", "provider"),
    *("transcript", "resume", "outline", "folder"),
]


def tree(seed, folders=4):
    """Files of several kinds, the same for the same seed."""
    draw = random.Random(seed)

    def sentence():
        words = [draw.choice(VOCABULARY) for _ in range(draw.randint(5, 12))]
        return " ".join(words).capitalize() + draw.choice(".!?")

    def prose():
        lines = ["# " + draw.choice(VOCABULARY)]
        for _ in range(draw.randint(3, 30)):
            lines += [
                "",
                f"{sentence()} {sentence()}",
                sentence() + " and a tail",
                "that goes on. ",
                f"- {sentence()}",
            ]
        lines += ["```", "# no heading.", "```", "## Ünïcode ½"]
        return "\n".join(lines) + draw.choice(["", "\n"])

    def code():
        blocks = [
            f'class C{n}:\n    """{sentence()}"""\n\n    def f(self):\n        x = {n}\n' for n in range(5)
        ]
        return "\n".join(blocks)

    files = {"/README.md": prose(), "/setup.py": code(), "/dos.txt": prose().replace("\n", "\r\n")}
    for folder in range(folders):
        files[f"/f{folder}/a.md"] = prose()
        files[f"/f{folder}/deep/er/b.py"] = code()
        files[f"/f{folder}/long.txt"] = "\n".join(sentence() for _ in range(draw.randint(1, 1200))) + "\n"
    return files


def section(report, title):
    return report.partition(f"## {title}\n\n")[2].partition("\n\n## ")[0]


def outline(report):
    """Sizes by path, put together from the indented list."""
    found, folders = {}, []
    for line in section(report, "Outline").splitlines():
        indent, name, rest = re.fullmatch(r"( *)- `+ ?(.+?) ?`+(?:: (.*))?", line).groups()
        folders = folders[: len(indent) // 2]
        if rest is None:
            folders.append(name)
        else:
            found["/" + "".join(folders) + name] = tuple(
                map(int, re.findall(r"(\d+) (?:line|char|byte)", rest))
            )
    return found


def cited(report):
    """The reported sentences of both readers."""
    row = re.compile(r"\d+\. `(.+?)`, line (\d+) \(score ([\d.]+)\): (.*)")
    here, _, there = section(report, "Most informative sentences").partition("Files read by the sub-agent:")
    return [[(p, int(n), s, t) for p, n, s, t in row.findall(part)] for part in (here, there)]


@pytest.mark.parametrize("seed", [1, 2])
def test_sizes_and_sentences_are_those_of_an_independent_reader(seed):
    files = tree(seed)
    work = Workspace(files)
    messages = work.run()
    reader = Reader(files)
    assert outline(work.report) == {path: reader.sizes(path) for path in files}
    given = sorted(path for path in files if path.startswith("/f3/"))
    own = sorted(set(files) - set(given))
    assert cited(work.report) == [reader.best(own), reader.best(given)]
    lines = sum(reader.sizes(path)[0] for path in files)
    assert (
        f"{len(files)} files seen, {len(files)} of them read as text (3 by a sub-agent)" in messages[-1].text
    )
    assert f"{lines} lines" in messages[-1].text
    assert "/REPORT.md" in messages[-1].text


def test_joiners_stay_in_the_report_and_control_characters_are_escaped():
    work = Workspace({"/می\u200cخواهم.md": "# hy\xadphen \u200d\n", "/a\u202eb\x85.md": "x\n"})
    work.run()
    assert "`می\u200cخواهم.md`" in work.report
    assert "`# hy\xadphen" in work.report
    assert "`a\\u202eb\\x85.md`" in work.report


def test_the_report_says_plainly_what_made_it_and_quotes_the_task():
    work = Workspace(tree(3))
    work.run()
    head = work.report.splitlines()[:8]
    assert "offline policy" in head[2]
    assert "does not understand" in head[2]
    assert head[5:7] == ["> Explain the workspace.", "> Then rest."]
    assert "- line 1: `# " in section(work.report, "Headings")
    assert "`class C0:`" in work.report
    assert "no heading" not in section(work.report, "Headings")


def test_it_follows_next_offsets_and_reads_each_line_once():
    files = tree(4)
    work = Workspace(files, windows=70)
    work.run()
    assert len(work.reads) == len(set(work.reads))
    assert outline(work.report) == {path: Reader(files).sizes(path) for path in files}
    long = "/f1/long.txt"
    count = Reader(files).sizes(long)[0]
    offsets = [offset for path, offset in work.reads if path == long]
    assert offsets == [*range(0, min(count, 70 * reading.MAX_WINDOWS), 70)]


def test_it_pages_without_knowing_the_length_of_a_file():
    work = Workspace({"/a.txt": "x\n"})
    pages = {
        0: "@@ lines 1-2 | next offset 2 | truncated due to size @@\na\nb",
        2: "@@ lines 3-3 @@\nc",
    }
    work.read = lambda path, offset, limit: pages[offset]
    work.run()
    assert outline(work.report) == {"/a.txt": (3, 6, 6)}


def test_changing_one_tool_result_changes_the_report():
    files = tree(5)
    before, after = Workspace(files), Workspace(files)
    after.answers["read", "/f0/a.md"] = (
        "@@ lines 1-2 of 2 @@\n# Other\nzebras wander across frozen mountains tonight quietly."
    )
    before.run()
    after.run()
    assert outline(after.report)["/f0/a.md"] == (2, 63, 63)
    assert outline(before.report)["/f0/a.md"] != (2, 63, 63)
    assert "zebras wander" in after.report
    assert {path: size for path, size in outline(after.report).items() if path != "/f0/a.md"} == {
        path: size for path, size in outline(before.report).items() if path != "/f0/a.md"
    }


def test_a_report_of_an_earlier_run_is_no_source():
    files = tree(6)
    work = Workspace(files)
    work.run()
    first = work.report
    work.run()
    assert work.report == first
    assert set(work.files) == {*files, "/REPORT.md"}


def test_an_earlier_report_is_known_by_its_first_line_and_read_no_further():
    work = Workspace(
        {"/A.md": "x\n", "/REPORT.md": "# Report of the offline policy\n" + "old\n" * 99}, windows=10
    )
    messages = work.run()
    assert outline(work.report) == {"/A.md": (1, 2, 2)}
    assert [read for read in work.reads if read[0] == "/REPORT.md"] == [("/REPORT.md", 0)]
    assert "The report is in /REPORT.md. 1 file seen" in messages[-1].text


MINE = "# My report\n\nMine alone.\n"


def test_a_report_that_somebody_else_wrote_is_a_source_and_stays():
    work = Workspace({"/a.md": "x\n", "/REPORT.md": MINE})
    for _ in range(2):
        # The second time its own report is there, under the other name.
        messages = work.run()
        assert work.files["/REPORT.md"] == MINE
        assert set(work.files) == {"/a.md", "/REPORT.md", "/REPORT-2.md"}
        assert set(outline(work.files["/REPORT-2.md"])) == {"/a.md", "/REPORT.md"}
        assert "The report is in /REPORT-2.md. /REPORT.md is not a report of" in messages[-1].text
        assert "2 files seen" in messages[-1].text


@pytest.mark.parametrize("what", ["file", "empty", "folder", "unreadable", "without read_file"])
def test_whatever_has_the_name_already_is_left_as_it_is(what):
    mine = {
        f"/REPORT{n}.md{'/x' if what == 'folder' else ''}": "" if what == "empty" else MINE
        for n in ("", "-2")
    }
    work = Workspace({**mine, "/REPORT-4.md": MINE})
    if what == "unreadable":
        work.answers.update({("read", path): ToolException("permission denied") for path in work.files})
    messages = work.run(without=["read_file"] if what == "without read_file" else [])
    assert {path: work.files[path] for path in mine} == mine
    assert set(work.files) == {*mine, "/REPORT-3.md", "/REPORT-4.md"}
    assert "The report is in /REPORT-3.md" in messages[-1].text


@pytest.mark.parametrize("mine", [True, False])
def test_a_listing_that_may_be_incomplete_proves_nothing(mine):
    work = Workspace({"/a.md": "x\n", **({"/REPORT.md": MINE} if mine else {})})
    work.answers["ls", "/"] = "['/a.md']\n\n[1 of 9 paths shown]"
    work.run()
    assert (work.files["/REPORT.md"] == MINE) is mine
    assert ("/REPORT-2.md" in work.files) is mine


def test_where_nothing_can_be_told_nothing_is_written():
    work = Workspace({"/REPORT.md": MINE})
    messages = work.run(without=["ls", "read_file"])
    assert work.files == {"/REPORT.md": MINE}
    assert "could not be written to /REPORT.md (it can't be told" in messages[-1].text
    work.answers["ls", "/"] = "Error: permission denied"
    work.answers["read", "/REPORT.md"] = ToolException("permission denied")
    work.run()
    assert work.files == {"/REPORT.md": MINE}


def test_a_name_that_differs_in_case_only_may_be_the_same_file():
    work = Workspace({"/report.md": MINE})
    work.answers["read", "/REPORT.md"] = f"@@ lines 1-3 of 3 @@\n{MINE}"
    work.run()
    assert set(work.files) == {"/report.md", "/REPORT-2.md"}
    hidden = Workspace({"/report.md": MINE})
    hidden.answers["read", "/REPORT.md"] = ToolException("permission denied")
    hidden.run()
    assert set(hidden.files) == {"/report.md", "/REPORT-2.md"}
    other = Workspace({"/report.md": MINE})
    other.run()
    assert set(other.files) == {"/report.md", "/REPORT.md"}


def test_the_sub_agent_reads_exactly_its_part_and_the_parent_the_rest():
    work = Workspace(tree(7), windows=5000)
    messages = work.run()
    asked = [call for message in messages if isinstance(message, AIMessage) for call in message.tool_calls]
    (task,) = [call for call in asked if call["name"] == "task"]
    given = policy.parse_part(task["args"]["description"])
    assert given == ("/f3/a.md", "/f3/deep/er/b.py", "/f3/long.txt")
    own = {call["args"]["file_path"] for call in asked if call["name"] == "read_file"}
    assert own.isdisjoint(given)
    assert {path for path, _ in work.reads} == own | set(given)
    assert work.report.count(", read by the sub-agent") == 3


def test_files_of_one_folder_are_shared_by_halves():
    files = {f"/only/{name}.md": "Some text.\n" for name in "abcde"}
    work = Workspace(files)
    work.run()
    assert re.findall(r"`(\w)\.md`.*sub-agent", work.report) == ["d", "e"]
    single = Workspace({"/one.md": "Some text.\n"})
    single.run()
    assert "sub-agent: 0" in single.report


@pytest.mark.parametrize(
    "answer",
    [
        "I could not do it.",
        "Error: no more budget",
        "OFFLINE-SUMMARY 1\nfile {}\nEND-OFFLINE-SUMMARY 1",
        "OFFLINE-SUMMARY 1\nEND-OFFLINE-SUMMARY 3",
        'OFFLINE-SUMMARY 1\nfile {"path": "/etc/passwd", "read": true}\nEND-OFFLINE-SUMMARY 1',
        'OFFLINE-SUMMARY 1\nfile {"path": "/f3/a.md", "read": true, "lines": "x"}\nEND-OFFLINE-SUMMARY 1',
    ],
)
def test_a_useless_answer_of_the_sub_agent_is_reported_and_its_files_are_read(answer):
    files = tree(8)
    work = Workspace(files)
    work.answers["task"] = answer
    work.run()
    assert "The sub-agent was of no use" in section(work.report, "Problems and limits")
    assert outline(work.report) == {path: Reader(files).sizes(path) for path in files}
    assert cited(work.report) == [Reader(files).best(sorted(files)), []]


def test_a_sub_agent_with_another_model_is_no_trap():
    work = Workspace(tree(9))
    work.child_model = ScriptedChatModel(["Here is a friendly summary."])
    work.run()
    assert "its answer is not a summary: Here is a friendly summary." in work.report
    assert "sub-agent: 0" in work.report


def test_what_can_not_be_read_is_named_and_skipped():
    files = tree(10) | {"/f3/b.bin": "x", "/pic.png": "x", "/gone.txt": "x", "/empty.txt": ""}
    work = Workspace(files)
    work.answers["read", "/pic.png"] = [{"type": "image", "base64": "AAAA", "mime_type": "image/png"}]
    work.answers["read", "/f3/b.bin"] = "Error: /f3/b.bin is not a text file."
    work.answers["read", "/gone.txt"] = ToolException("vanished")
    work.answers["ls", "/f1/"] = "Error: permission denied for /f1/"
    messages = work.run()
    skipped = section(work.report, "Skipped files").splitlines()
    assert skipped == [
        "- `/empty.txt`: no text shown, the tool said: Reminder: the file is empty.",
        "- `/f3/b.bin`: Error: /f3/b.bin is not a text file.",
        "- `/gone.txt`: vanished",
        "- `/pic.png`: not text: the tool gave image",
    ]
    assert "ls /f1/: Error: permission denied for /f1/" in section(work.report, "Problems and limits")
    read = len(files) - 4 - 3
    assert f"{read + 4} files seen, {read} of them read as text" in messages[-1].text


def test_a_tool_that_fails_in_the_middle_of_a_file_leaves_what_was_read():
    lines = [f"line number {n}" for n in range(40)]
    work = Workspace({"/a.txt": "\n".join(lines), "/b.txt": "b\n"}, windows=10)
    original = work.read
    work.read = lambda path, offset, limit: "Error: disk" if offset == 20 else original(path, offset, limit)
    work.run()
    assert outline(work.report)["/a.txt"][0] == 20
    assert section(work.report, "Files read in part") == "- `/a.txt`: Error: disk\n"


def test_remarks_cuts_and_odd_headers_of_read_file():
    work = Workspace(dict.fromkeys(("/a.txt", "/b.txt", "/c.txt", "/d.txt"), "x"))
    work.answers["read", "/a.txt"] = "Note: shown as latin-1.\n@@ lines 1-2 @@\n\nz\nremark of the backend"
    work.answers["read", "/b.txt"] = "Cut.\n@@ lines 1-1 of 1 | truncated mid-line | 3 of 90 chars @@\nabc"
    work.answers["read", "/c.txt"] = "@@ lines 5-6 of 9 @@\nx\ny"
    work.answers["read", "/d.txt"] = "@@ lines 1-3 of 3 @@\nonly"
    work.run(without=["task"])
    assert outline(work.report) == {
        "/a.txt": (2, 3, 3),
        "/b.txt": (1, 4, 4),
        "/c.txt": (),
        "/d.txt": (3, 7, 7),
    }
    assert "line 1 is longer than the tool shows" in section(work.report, "Files read in part")
    assert "the tool showed lines 5-6 where line 1 was due" in section(work.report, "Skipped files")


def test_the_lines_below_a_cut_line_are_read():
    work = Workspace({"/a.txt": "x" * 50 + "\nsecond\nthird"}, windows=1)
    original = work.read

    def read(path, offset, limit):
        cut = "@@ lines 1-1 of 3 | truncated mid-line | 9 of 50 chars @@\n" + "x" * 9
        return original(path, offset, limit) if offset else cut

    work.read = read
    work.run()
    assert outline(work.report)["/a.txt"] == (3, 9 + 6 + 5 + 3, 9 + 6 + 5 + 3)


def test_a_very_long_file_is_read_up_to_a_limit_that_is_told():
    work = Workspace({"/a.txt": "x\n" * 100}, windows=2)
    work.run()
    assert outline(work.report)["/a.txt"][0] == 2 * reading.MAX_WINDOWS
    assert "only the first 80 lines were read" in section(work.report, "Files read in part")


def test_names_with_quotes_control_characters_and_surrogates():
    files = {
        '/it\'s "x".md': "a\n",
        "/new\nline.md": "b\n",
        "/back`tick.md": "c\n",
        "/s\udcff.md": "d\n",
        "/z/ü.md": "e\n",
    }
    work = Workspace(files)
    work.run()
    work.report.encode()
    assert {path for path, _ in work.reads} == set(files)
    assert set(outline(work.report)) == {
        '/it\'s "x".md',
        "/new\\nline.md",
        "/back`tick.md",
        "/s\\udcff.md",
        "/z/ü.md",
    }


@pytest.mark.parametrize("broken", ["[unclosed", "['a' +]", "[" * 5000])
def test_a_listing_that_is_none_is_reported(broken):
    work = Workspace({"/a/b.md": "x"})
    work.answers["ls", "/"] = broken
    work.run()
    assert "ls /: not a list:" in work.report
    assert "No files were seen." in work.report


def test_the_walk_is_bounded_and_says_so(monkeypatch):
    files = {
        "/" + "d/" * (survey.MAX_DEPTH + 2) + "f.md": "deep\n",
        "/.git/config": "x\n",
        "/a/node_modules/x.md": "x\n",
    }
    work = Workspace(files | {"/large_tool_results/r": "x\n", "/blobs/b": "x\n"})
    work.answers["ls", "/blobs/"] = "['/blobs/b']\n\n1 of 9 shown"
    work.run()
    problems = section(work.report, "Problems and limits")
    assert outline(work.report) == {"/blobs/b": (1, 2, 2)}
    assert f"it is more than {survey.MAX_DEPTH} folders deep" in problems
    for name in ("/.git/", "/a/node_modules/", "/large_tool_results/"):
        assert f"{name} was not entered" in problems
    assert "ls /blobs/: 1 of 9 shown" in problems

    monkeypatch.setattr(survey, "MAX_FILES", 4)
    monkeypatch.setattr(survey, "MAX_FOLDERS", 3)
    wide = Workspace({f"/f{n}/a.md": "x\n" for n in range(4)} | {f"/{n}.md": "x\n" for n in range(5)})
    wide.run()
    assert sorted(outline(wide.report)) == ["/0.md", "/1.md", "/2.md", "/3.md"]
    assert "3 files were left out: the limit is 4" in wide.report
    assert "2 folders were left out: the limit is 3" in wide.report


def test_without_write_file_the_report_is_the_answer():
    files = tree(11)
    messages = Workspace(files).run(without=["write_file"])
    assert "the tool write_file is not bound" in messages[-1].text
    assert outline(messages[-1].text) == {path: Reader(files).sizes(path) for path in files}


def test_a_refused_write_is_told_and_the_report_is_the_answer():
    work = Workspace(tree(12))
    work.answers["write"] = ToolException("permission denied")
    messages = work.run()
    assert "could not be written to /REPORT.md (permission denied)" in messages[-1].text
    assert "# Report of the offline policy" in messages[-1].text


def test_without_read_file_or_ls_it_does_what_it_can():
    work = Workspace(tree(13))
    work.run(without=["read_file"])
    assert "The tool read_file is not bound" in work.report
    assert set(outline(work.report)) == set(tree(13))
    assert work.reads == []
    blind = Workspace(tree(13))
    blind.run(without=["ls"])
    assert "The tool ls is not bound" in blind.report
    assert "No files were seen." in blind.report


def test_without_file_tools_it_says_so():
    model = OfflineChatModel()
    assert "no file tools" in model.invoke("Summarise this conversation").text
    assert (
        "no file tools"
        in create_agent(model, []).invoke({"messages": [HumanMessage("x")]})["messages"][-1].text
    )


def test_every_turn_follows_from_the_messages_alone():
    work = Workspace(tree(14), windows=300)
    messages = work.run()
    tools = tuple(work.tools().values())
    turns = [n for n, message in enumerate(messages) if isinstance(message, AIMessage)]
    assert len(turns) > 5
    for n in turns:
        again = OfflineChatModel().answer(messages[:n], tools, {})
        assert (again.content, again.tool_calls) == (messages[n].content, messages[n].tool_calls)


def test_a_call_without_a_result_is_reported_not_repeated():
    work = Workspace({"/a.md": "x\n", "/b.md": "y\n"})
    start = work.run(without=["task"])[:3]
    lost = AIMessage(
        "",
        tool_calls=[{"name": "read_file", "args": {"file_path": "/a.md", "offset": 0}, "id": "offline_7_1"}],
    )
    work.reads.clear()
    messages = work.agent(["task"]).invoke({"messages": [*start, lost]})["messages"]
    assert "- `/a.md`: the call has no result" in work.report
    assert work.reads == [("/b.md", 0)]
    assert "/REPORT.md" in messages[-1].text


def test_a_second_task_in_one_thread_starts_anew_with_fresh_ids():
    work = Workspace(tree(15))
    first = work.run()
    work.files["/f0/a.md"] = "# Changed\n"
    messages = work.agent().invoke({"messages": [*first, HumanMessage("Once more")]})["messages"]
    assert "> Once more" in work.report
    assert outline(work.report)["/f0/a.md"] == (1, 10, 10)
    ids = [
        call["id"] for message in messages if isinstance(message, AIMessage) for call in message.tool_calls
    ]
    assert len(ids) == len(set(ids))


def test_it_gives_up_after_a_number_of_turns_and_reports(monkeypatch):
    monkeypatch.setattr(policy, "MAX_TURNS", 4)
    work = Workspace({f"/a{n}.txt": "x\n" * 30 for n in range(3)}, windows=5)
    work.run(without=["task"])
    assert outline(work.report) == dict.fromkeys(("/a0.txt", "/a1.txt", "/a2.txt"), (15, 30, 30))
    assert work.report.count("not read: 4 turns were used up") == 3


async def test_streaming_and_the_asynchronous_twin_say_the_same():
    files = tree(16)
    task = {"messages": [HumanMessage(TASK)]}
    plain, streamed, later = (Workspace(files) for _ in range(3))
    expected = plain.run()
    texts = [
        chunk.content
        for chunk, _ in streamed.agent().stream(task, stream_mode="messages")
        if chunk.type != "tool" and chunk.content
    ]
    assert len(texts) > 1
    assert "".join(texts).endswith(expected[-1].text)
    result = await later.agent().ainvoke(task)
    assert result["messages"][-1].text == expected[-1].text
    assert plain.report == streamed.report == later.report


def test_many_files_take_few_turns_and_one_read_each():
    files = {f"/d{n % 30:02}/f{n:03}.md": f"# Title {n}\n\nSome text number {n}.\n" for n in range(300)}
    work = Workspace(files)
    messages = work.run()
    assert len(work.reads) == 300
    assert sum(isinstance(message, AIMessage) for message in messages) < 20
    assert outline(work.report) == {path: Reader(files).sizes(path) for path in files}


TEXT = st.lists(
    st.lists(
        st.sampled_from(
            ["Hello", "lengthy", "words", "under", "testing", "again", "ok.", "end!", "`x`", "#", "-", "Why?"]
        ),
        max_size=12,
    ).map(" ".join),
    max_size=14,
).map("\n".join)


@settings(max_examples=150, deadline=None)
@given(st.dictionaries(st.sampled_from(["/a.md", "/b.txt", "/c.py", "/d/e.md"]), TEXT, min_size=1))
def test_the_ranking_is_the_rule_that_is_written_down(files):
    reader = Reader(files)
    found = rank({path: reader.lines[path] for path in reader.lines})
    assert [(s.path, s.line, f"{s.score:.4f}", s.text) for s in found] == reader.best(sorted(reader.lines))


def test_it_reports_itself():
    model = deepagents_resolve_model(spec="offline")
    assert isinstance(model, OfflineChatModel)
    assert (get_model_provider(model), get_model_identifier(model)) == ("offline", "offline")
    assert model.profile["max_input_tokens"] > 1_000_000
    answer = model.invoke("eight ch")
    assert answer.usage_metadata["input_tokens"] == 2
    assert "offline" in PLUGIN.summary


def test_the_model_string():
    assert isinstance(deepagents_resolve_model(spec="offline:"), OfflineChatModel)
    assert deepagents_resolve_model(spec="offline-x") is None
    assert deepagents_resolve_model(spec="openai:gpt-5.4") is None
    with pytest.raises(ModelSpecError, match="write: offline"):
        deepagents_resolve_model(spec="offline:large")
