"""Three tools that only look, and only below one folder: read a file, list a folder, search for text."""

import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

__all__ = ["FolderTools"]

_MAX_CHARS = 32_000
_MAX_ENTRIES = 500
_MAX_MATCHES = 100
_MAX_SEARCHED_BYTES = 2_000_000
_MAX_LINE_CHARS = 300


class FolderTools:
    """What the model may do with the files below `root`. Links that lead out of it are not followed."""

    def __init__(self, root: Path) -> None:
        self._root = root.resolve()
        self._tools: dict[str, Callable[..., str]] = {
            "read_file": self.read_file,
            "list_folder": self.list_folder,
            "search": self.search,
        }

    @property
    def definitions(self) -> list[dict[str, Any]]:
        """The tools as the Chat Completions API wants to be told of them."""
        path = {"type": "string", "description": "relative to the folder the user opened"}
        line = {"type": "integer", "description": "the first line to read, from 1"}
        text = {"type": "string", "description": "plain text; upper and lower case are the same"}
        return [
            _definition("read_file", "Read a text file.", {"path": path, "first_line": line}, ["path"]),
            _definition("list_folder", "The names in a folder; folders end in a slash.", {"path": path}, []),
            _definition(
                "search", "Lines that contain a text, in all files.", {"text": text, "path": path}, ["text"]
            ),
        ]

    def call(self, name: str, given: Any) -> str:
        """Run a tool. Whatever is wrong with the call is a `ValueError` or `OSError` that says what."""
        tool = self._tools.get(name)
        if tool is None:
            raise ValueError(f"there is no tool {name!r}; there are {', '.join(self._tools)}")
        if not isinstance(given, dict):
            raise ValueError("the arguments are not a JSON object")
        try:
            return tool(**given)
        except TypeError as error:
            raise ValueError(f"wrong arguments for {name}: {error}") from error

    def read_file(self, path: str, first_line: int = 1) -> str:
        """The lines of a file, from `first_line` on, as many as fit."""
        lines = self._inside(path).read_text("utf-8", "replace").splitlines(keepends=True)
        text = "".join(lines[max(first_line, 1) - 1 :])
        if len(text) <= _MAX_CHARS:
            return text
        shown = text[:_MAX_CHARS].rsplit("\n", 1)[0]
        return f"{shown}\n… (cut; line {max(first_line, 1) + shown.count(chr(10)) + 1} of {len(lines)} comes next)"

    def list_folder(self, path: str = ".") -> str:
        """The names in a folder."""
        entries = sorted(self._inside(path).iterdir())
        names = [entry.name + ("/" if entry.is_dir() else "") for entry in entries[:_MAX_ENTRIES]]
        return "\n".join(names) + (
            f"\n… and {len(entries) - _MAX_ENTRIES} more" if len(entries) > _MAX_ENTRIES else ""
        )

    def search(self, text: str, path: str = ".") -> str:
        """The lines that contain `text`, with their file and number."""
        if not text:
            raise ValueError("there is no text to search for")
        matches: list[str] = []
        for file in self._files(self._inside(path)):
            for number, line in enumerate(file.read_text("utf-8", "replace").splitlines(), 1):
                if text.lower() in line.lower():
                    matches.append(f"{file.relative_to(self._root)}:{number}: {line.strip()[:_MAX_LINE_CHARS]}")
                    if len(matches) == _MAX_MATCHES:
                        return "\n".join([*matches, "… (there may be more)"])
        return "\n".join(matches) or "nothing found"

    def _inside(self, path: str) -> Path:
        place = (self._root / path).resolve()
        if not place.is_relative_to(self._root):
            raise ValueError(f"{path} is outside of the folder that was opened")
        return place

    def _files(self, place: Path) -> Iterator[Path]:
        if place.is_file():
            yield place
            return
        for folder, folders, names in os.walk(place):
            folders[:] = sorted(name for name in folders if not name.startswith("."))
            for name in sorted(names):
                file = Path(folder, name)
                if file.is_file() and not file.is_symlink() and file.stat().st_size <= _MAX_SEARCHED_BYTES:
                    yield file


def _definition(name: str, description: str, properties: dict[str, Any], required: list[str]) -> dict[str, Any]:
    parameters = {"type": "object", "properties": properties, "required": required}
    return {"type": "function", "function": {"name": name, "description": description, "parameters": parameters}}
