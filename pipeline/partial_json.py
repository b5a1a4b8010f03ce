"""JSON that is still being written: the best value so far, at any moment, at a cost linear in what arrives.

    reader = PartialJson()
    path = reader.follow(("path",))
    content = reader.follow(("content",), on_text=preview.write)     # the new text of that string, as it grows
    for delta in deltas:
        reader.feed(delta)
        print(path.head(), content.lines, "lines")

Half an escape, half a surrogate pair, an unfinished number, literal or key is withheld until it is whole. Malformed
text is reported once, in `error`, with the offset of the first character that cannot be right; what was read
before it stays. Nothing is accepted beyond JSON (RFC 8259): no trailing commas, comments, NaN or raw control
characters, nor escaped surrogates without their other half, which no encoder could write out again. Nesting deeper
than 200 and numbers longer than 1,000 characters are malformed too. Of a name given twice the last counts.

For every beginning of a text `jiter.from_json(text, partial_mode="trailing-strings")` gives the same value, with
two differences. A number at the very end is withheld here: jiter shows `[12` as `[12]`, though it may become 123.
And what jiter passes over in silence, be it after a value (`[1 2`, `{} x`) or half an escape that can come to no
good (`"\\udc`), is an `error` here, beside the same value.
"""

from collections.abc import Callable
from typing import Any, ClassVar, Final, NamedTuple

from penstock._json_tokens import (
    LITERALS,
    MAX_NUMBER_CHARS,
    half_escape,
    has_special,
    is_literal_so_far,
    member_name,
    number_so_far,
    plain_string,
    skip_space,
    string_run,
    to_number,
    unescape,
)
from penstock._json_tree import NOTHING, LiveText, OpenContainer, Snapshot

__all__ = ["LiveText", "Malformed", "PartialJson", "Snapshot", "extract_streaming_params"]

MAX_DEPTH: Final = 200

Path = tuple[str | int, ...]


class Malformed(NamedTuple):
    """Where the text stopped being JSON, in characters from its beginning, and why."""

    offset: int
    message: str


class PartialJson:
    """Reads JSON in pieces; see the module's docstring.

    `feed` costs what the delta is long: inside a string, one search and one append. `snapshot` costs the
    nesting depth. `value` copies what is still open (the members of open objects and arrays, the text of an
    open string) and shares the rest. `live`, `follow` and their counters copy nothing.
    """

    _new_text: ClassVar[type[LiveText]] = LiveText
    """What a value that is a string is read into."""

    __slots__ = (
        "_base", "_fed", "_followed", "_held", "_in_text", "_is_key", "_root", "_stack", "_state", "_text", "error",
    )  # fmt: skip

    def __init__(self) -> None:
        self.error: Malformed | None = None
        self._root: Any = NOTHING
        self._stack: list[OpenContainer] = []
        self._state: Callable[[PartialJson, str, int], int] = PartialJson._value
        self._text = LiveText()
        self._is_key = False
        self._in_text = False
        self._held = ""
        self._fed = 0
        self._base = 0
        self._followed: dict[Path, LiveText] = {}

    # ── what one asks it ─────────────────────────────────────────────────────────────────────────────────

    @property
    def is_complete(self) -> bool:
        """Whether the value is whole and nothing is wrong."""
        return self._state is PartialJson._after_end and self.error is None

    @property
    def live(self) -> Any:
        """What has been read, borrowed: it goes on changing, and the string being read is a `LiveText`.

        An array here has its finished items alone. None where nothing has been read.
        """
        return None if self._root is NOTHING else self._root

    def value(self) -> Any:
        """The best value so far, as plain Python data; None where there is nothing yet."""
        return self.snapshot().value

    def snapshot(self) -> Snapshot:
        """The value of this moment, to be read later or never."""
        text = self._text if self._reads_a_value() else None
        levels = [(level, len(level.entries), level.key) for level in self._stack]
        return Snapshot(levels, text, NOTHING if levels else self._root)

    def follow(self, path: Path, on_text: Callable[[str], object] | None = None) -> LiveText:
        """The string at `path`, as far as it is there; `on_text` is called with all that is new in it.

        May be called at any time, before the string begins or after it ended. A name given twice starts its
        text again.
        """
        text = self._followed.get(path)
        if text is None:
            text = self._followed[path] = self._find(path)
        if on_text is not None:
            if text.chars:
                on_text(str(text))
            text.listeners.append(on_text)
        return text

    def _find(self, path: Path) -> LiveText:
        found: Any = self._root
        for depth, key in enumerate(path):
            if isinstance(found, dict):
                found = found.get(key)
            elif isinstance(found, list) and isinstance(key, int):
                found = found[key] if 0 <= key < len(found) else self._item_under_way(depth, found, key)
            else:
                return self._new_text()
        if isinstance(found, LiveText):
            return found
        text = self._new_text()
        if isinstance(found, str):
            text.grow(found)
            text.is_complete = True
        return text

    def _item_under_way(self, depth: int, items: list[Any], index: int) -> Any:
        if depth >= len(self._stack) or self._stack[depth].entries is not items or index != len(items):
            return None
        if depth + 1 < len(self._stack):
            inner = self._stack[depth + 1]
            return inner.entries if inner.members is None else inner.members
        return self._text if self._reads_a_value() else None

    def _reads_a_value(self) -> bool:
        return self._state is PartialJson._string and not self._is_key

    # ── what it is fed ───────────────────────────────────────────────────────────────────────────────────

    def feed(self, delta: str) -> None:
        """More of the text; after an `error`, nothing."""
        if self._in_text and has_special(delta) is None:
            self._fed += len(delta)
            if delta:
                self._text.grow(delta)
        elif self.error is None:
            text = self._held + delta
            self._base = self._fed - len(self._held)
            self._fed += len(delta)
            self._held = ""
            position = 0
            end = len(text)
            while position < end:
                position = self._state(self, text, position)
            self._in_text = self._state is PartialJson._string and not self._held and self.error is None

    def _hold(self, text: str, position: int) -> int:
        self._held = text[position:]
        return len(text)

    def _fail(self, text: str, position: int, message: str) -> int:
        self.error = Malformed(self._base + position, message)
        return len(text)

    # ── the states: each reads on from `position` and says how far it came ───────────────────────────────

    def _value(self, text: str, position: int) -> int:
        position = skip_space(text, position).end()  # type: ignore[union-attr]
        if position == len(text):
            return position
        first = text[position]
        if first == '"':
            whole = plain_string(text, position)
            if whole is None:
                self._begin_text()
                return position + 1
            self._put_string(whole[1])
            return whole.end()
        if first == "{" or first == "[":
            return self._begin_container(first, text, position)
        if first in "-0123456789":
            return self._number(text, position)
        if first in LITERALS:
            return self._literal(text, position)
        return self._fail(text, position, f"expected a value, found {first!r}")

    def _first_item(self, text: str, position: int) -> int:
        position = skip_space(text, position).end()  # type: ignore[union-attr]
        if text.startswith("]", position):
            return self._end_container(position)
        if position < len(text):
            self._state = PartialJson._value
        return position

    def _first_name(self, text: str, position: int) -> int:
        position = skip_space(text, position).end()  # type: ignore[union-attr]
        if text.startswith("}", position):
            return self._end_container(position)
        if position < len(text):
            self._state = PartialJson._name
        return position

    def _name(self, text: str, position: int) -> int:
        whole = member_name(text, position)
        if whole is not None:
            self._stack[-1].key = whole[1]
            self._state = PartialJson._value
            return whole.end()
        position = skip_space(text, position).end()  # type: ignore[union-attr]
        if position == len(text):
            return position
        if text[position] != '"':
            return self._fail(text, position, f"expected a name in quotes, found {text[position]!r}")
        self._text = LiveText()
        self._is_key = True
        self._state = PartialJson._string
        return position + 1

    def _colon(self, text: str, position: int) -> int:
        position = skip_space(text, position).end()  # type: ignore[union-attr]
        if position == len(text):
            return position
        if text[position] != ":":
            return self._fail(text, position, f"expected ':', found {text[position]!r}")
        self._state = PartialJson._value
        return position + 1

    def _next(self, text: str, position: int) -> int:
        position = skip_space(text, position).end()  # type: ignore[union-attr]
        if position == len(text):
            return position
        mark = text[position]
        is_object = self._stack[-1].members is not None
        if mark == ",":
            self._state = PartialJson._name if is_object else PartialJson._value
            return position + 1
        if mark == ("}" if is_object else "]"):
            return self._end_container(position)
        return self._fail(text, position, f"expected ',' or '{'}' if is_object else ']'}', found {mark!r}")

    def _after_end(self, text: str, position: int) -> int:
        position = skip_space(text, position).end()  # type: ignore[union-attr]
        if position == len(text):
            return position
        return self._fail(text, position, f"the value is over, found {text[position]!r}")

    def _string(self, text: str, position: int) -> int:
        end = string_run(text, position).end()  # type: ignore[union-attr]
        if end > position:
            self._text.grow(unescape(text[position:end]))
        if end == len(text):
            return end
        if text[end] == '"':
            self._end_text()
            return end + 1
        wrong = half_escape(text, end).end()  # type: ignore[union-attr]
        if wrong == len(text):
            return self._hold(text, end)
        kind = "control character" if wrong == end else "escape"
        return self._fail(text, wrong, f"not allowed in a string: the {kind} {text[end : wrong + 1]!r}")

    def _number(self, text: str, position: int) -> int:
        end = number_so_far(text, position).end()  # type: ignore[union-attr]
        if end - position > MAX_NUMBER_CHARS:
            return self._fail(text, position + MAX_NUMBER_CHARS, "the number is too long")
        if end == len(text):
            return self._hold(text, position)
        number = to_number(text[position:end])
        if number is None:
            return self._fail(text, end, f"expected a digit, found {text[end]!r}")
        self._put(number)
        return end

    def _literal(self, text: str, position: int) -> int:
        word, value = LITERALS[text[position]]
        end = is_literal_so_far(word, text, position)
        if end - position == len(word):
            self._put(value)
            return end
        if end == len(text):
            return self._hold(text, position)
        return self._fail(text, end, f"expected {word}, found {text[position : end + 1]!r}")

    # ── what the states build ────────────────────────────────────────────────────────────────────────────

    def _put(self, value: Any) -> None:
        if self._stack:
            self._stack[-1].add(value)
            self._state = PartialJson._next
        else:
            self._root = value
            self._state = PartialJson._after_end

    def _put_string(self, value: str) -> None:
        if self._followed:
            followed = self._followed_here()
            if followed is not None:
                if value:
                    followed.grow(value)
                followed.is_complete = True
        self._put(self._kept(value))

    def _kept(self, value: str) -> str | LiveText:
        """What stands for a string that came in one piece."""
        return value

    def _begin_text(self) -> None:
        self._text = (self._followed and self._followed_here()) or self._new_text()
        self._is_key = False
        self._state = PartialJson._string
        self._begin(self._text)

    def _end_text(self) -> None:
        text = self._text
        if self._is_key:
            self._stack[-1].key = str(text)
            self._state = PartialJson._colon
        else:
            self._put(text.finish())

    def _begin_container(self, bracket: str, text: str, position: int) -> int:
        if len(self._stack) == MAX_DEPTH:
            return self._fail(text, position, f"nested deeper than {MAX_DEPTH}")
        opened = OpenContainer({} if bracket == "{" else None)
        self._begin(opened.entries if opened.members is None else opened.members)
        self._stack.append(opened)
        self._state = PartialJson._first_name if bracket == "{" else PartialJson._first_item
        return position + 1

    def _end_container(self, position: int) -> int:
        closed = self._stack.pop()
        self._put(closed.entries if closed.members is None else closed.members)
        return position + 1

    def _begin(self, live: Any) -> None:
        if self._stack:
            self._stack[-1].begin(live)
        else:
            self._root = live

    def _followed_here(self) -> LiveText | None:
        if not any(len(path) == len(self._stack) for path in self._followed):
            return None
        path = tuple(len(level.entries) if level.members is None else level.key for level in self._stack)
        text = self._followed.get(path)
        if text is not None and text.chars:
            text.start()
        return text


def extract_streaming_params(text: str) -> dict[str, Any]:
    """The parameters readable in the argument text so far; empty where there are none, or it is no object."""
    reader = PartialJson()
    reader.feed(text)
    value = reader.value()
    return value if isinstance(value, dict) else {}
