"""How the tools people know show their arguments in one line."""

import re
from collections.abc import Callable, Mapping
from typing import TypeAlias

from penstock.parameters import HEAD_CHARS, Parameters, as_text

__all__ = ["FORMATTERS", "Formatter", "default_line"]

Formatter: TypeAlias = Callable[[Parameters], str]

SHOWN_MEMBERS = 6
PATH = (
    "file_path", "path", "target_file", "absolute_path", "filename", "file", "notebook_path", "filePath",
    "dir_path", "target_directory", "relative_workspace_path", "directory",
)  # fmt: skip
CONTENT = ("content", "contents", "file_text", "fileText", "new_source", "code_edit", "text")
OLD = ("old_string", "old_str", "oldText")
NEW = ("new_string", "new_str", "newText")
PATTERN = ("pattern", "query", "regex", "globPattern", "glob_pattern", "glob", "search_term")
COMMAND = ("command", "cmd", "script", "code", "input")
WRAPPED = re.compile(r"(?:\S*/)?(?:ba|z)?sh -l?c (['\"]?)(.+)\1", re.DOTALL)
PATCHED = re.compile(r"^(?:\*\*\* (?:Add|Update|Delete) File: |\+\+\+ b/)(.+)$", re.MULTILINE)


def _counted(number: int, noun: str) -> str:
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"


def default_line(parameters: Parameters) -> str:
    """`name: value, …` for the first few arguments, or the head of what is no object."""
    members = parameters.members
    if not members:
        return parameters.raw.head(HEAD_CHARS)
    shown = [f"{name}: {as_text(members[name])}" for name, _ in zip(members, range(SHOWN_MEMBERS), strict=False)]
    return ", ".join(shown) + (", …" if len(members) > SHOWN_MEMBERS else "")


def written_file(parameters: Parameters) -> str:
    """The path and how many lines are written."""
    path = parameters.text(*PATH)
    lines = parameters.lines(*CONTENT)
    return f"{path} ({_counted(lines, 'line')})".lstrip() if lines else path


def edited_file(parameters: Parameters) -> str:
    """The path and how many lines become how many."""
    path = parameters.text(*PATH)
    edits = parameters.count("edits")
    if edits:
        return f"{path} ({_counted(edits, 'edit')})"
    if parameters.name_of(*OLD, *NEW):
        return f"{path} (-{parameters.lines(*OLD)} +{parameters.lines(*NEW)})"
    return written_file(parameters)


def read_file(parameters: Parameters) -> str:
    """The path, and the lines asked for where it is not all of them."""
    path = parameters.text(*PATH) or _words(parameters, "paths", "include", "file_paths")
    first = parameters.number("offset", "start_line", "start_line_one_indexed")
    last = parameters.number("end_line", "end_line_one_indexed_inclusive")
    if parameters.number("limit"):
        last = first + parameters.number("limit") - 1 if first else parameters.number("limit")
    return f"{path}:{first or 1}-{last}" if last else f"{path}:{first}-" if first else path


def shell_command(parameters: Parameters) -> str:
    """The command itself, without the shell it is wrapped in."""
    command = _words(parameters, *COMMAND) or parameters.text(*COMMAND)
    wrapped = WRAPPED.fullmatch(command)
    return wrapped[2] if wrapped else command


def search(parameters: Parameters) -> str:
    """The pattern, and where it is looked for."""
    pattern = parameters.text(*PATTERN) or parameters.text("queries")
    place = parameters.text(*PATH, "include", "glob", "include_pattern")
    return f"{pattern} in {place}" if pattern and place and place != pattern else pattern or place


def web_page(parameters: Parameters) -> str:
    """The address, or what is asked for."""
    return parameters.text("url", "query", "q", "search_query", "prompt")


def subagent(parameters: Parameters) -> str:
    """Who is sent, and what for."""
    who = parameters.text("subagent_type", "agent", "agent_name")
    what = parameters.text("description", "task", "objective", "prompt")
    return f"{who}: {what}" if who and what else who or what


def item_list(parameters: Parameters) -> str:
    """How many items there are, and the one being worked on."""
    name = parameters.name_of("todos", "plan", "items")
    items = parameters.members.get(name)
    if type(items) is not list or not items:
        return ""
    how_many = _counted(len(items), "item")
    for item in items[:50]:
        if type(item) is dict and item.get("status") == "in_progress":
            current = item.get("activeForm") or item.get("content") or item.get("step") or item.get("description")
            return f"{how_many}: {as_text(current or '')}"
    return how_many


def patch(parameters: Parameters) -> str:
    """The first file patched, and how long the patch is."""
    name = parameters.name_of("input", "patch", "diff")
    text = parameters.follow((name,)) if name else parameters.raw
    file = PATCHED.search(text.head(4 * HEAD_CHARS))
    if file is None:
        return edited_file(parameters) or text.head(HEAD_CHARS)
    return f"{file[1].strip()} ({_counted(text.lines, 'line')})"


def _words(parameters: Parameters, *names: str) -> str:
    value = parameters.members.get(parameters.name_of(*names))
    if type(value) is not list:
        return ""
    return " ".join([as_text(word) for word in value[:20]])


FORMATTERS: Mapping[str, Formatter] = {
    name: formatter
    for formatter, names in {
        written_file: "write writefile createfile create savefile newfile filewrite",
        edited_file: "edit multiedit editfile notebookedit editnotebook replace strreplace strreplaceeditor"
        " strreplacebasededittool strreplacebasedtool searchreplace replaceinfile fileedit filechange",
        read_file: "read readfile readmanyfiles view viewfile viewimage openfile notebookread list ls listdir"
        " listdirectory listfiles delete deletefile removefile",
        shell_command: "bash shell localshell localshellcall shellcommand exec execcommand runshellcommand"
        " runterminalcmd runterminalcommand runcommand executecommand executebash commandexecution terminal"
        " powershell python runpython executecode runcode codeinterpreter codeexecution",
        search: "grep glob search searchfilecontent grepsearch grepfiles filesearch codebasesearch searchfiles"
        " searchcode semsearch ripgrep find findfiles toolsearch",
        web_page: "webfetch fetch websearch googlewebsearch websearchcall urlcontext browse navigate openurl"
        " browsernavigate httprequest",
        subagent: "task agent spawnagent delegate delegatetoagent",
        item_list: "todowrite todo updatetodos writetodos todolist updateplan plan",
        patch: "applypatch patch applydiff",
    }.items()
    for name in names.split()
}
"""By tool name in lower case, without `_`, `-`, `.` and a `ToolCall` at its end: one row serves every spelling."""
