"""The screen and the scrollback of a whole turn, read with pyte (issue 6; USERS 1, 4, 6, 7, 8)."""

import io
import re

import pytest
from rich.console import Console
from terminals import Stage, answer, check_bytes, check_pace, check_region, pieces_of

from penstock.sinks.terminal.round_text import RoundText


def one_shot(text: str, columns: int) -> list[str]:
    round_text = RoundText(Console(file=io.StringIO()), has_unicode=True)
    round_text.feed(text)
    return ["".join(segment.text for segment in row).rstrip() for row in round_text.finish(columns - 1)]


def condensed(rows: list[str]) -> str:
    return re.sub(r"[\s─]", "", "".join(rows))


SIZES = [(80, 24), (40, 10), pytest.param(200, 60, marks=pytest.mark.slow)]
TEXT = answer(60)
CHUNKS = pieces_of(TEXT, -(-len(TEXT) // 5000))


@pytest.mark.parametrize(("columns", "lines"), SIZES)
def test_a_stream_of_5000_chunks_leaves_its_one_shot_rendering_in_the_scrollback(columns: int, lines: int) -> None:
    stage = Stage(columns, lines)
    stage.start_message()
    stage.say(CHUNKS, every_s=0.01)
    stage.stop_message()
    stage.complete()
    assert stage.terminal.rows() == one_shot(TEXT, columns)
    assert not stage.terminal.is_cursor_hidden
    check_bytes(stage.tape.text)
    check_region([frame for _, frame in stage.tape.frames], lines)
    check_pace(stage.tape.frames)


@pytest.mark.parametrize(("columns", "lines"), SIZES)
def test_after_a_resize_in_the_middle_each_text_stands_exactly_once(columns: int, lines: int) -> None:
    stage = Stage(columns, lines)
    stage.start_message()
    for resize_to, chunks in (
        ((columns // 2 + 7, lines - 3), CHUNKS[:2000]),
        ((columns + 11, lines + 5), CHUNKS[2000:3500]),
        ((columns, lines), CHUNKS[3500:]),
    ):
        stage.say(chunks, every_s=0.01)
        stage.terminal.resize(*resize_to)
    stage.stop_message()
    stage.complete()
    rows = stage.terminal.rows()
    assert condensed(rows) == condensed(one_shot(TEXT, columns))
    for n in range(60):
        assert sum(row == f"Section {n}" for row in rows) == 1
    check_bytes(stage.tape.text)
    check_region([frame for _, frame in stage.tape.frames], max(lines + 5, lines))


def test_what_is_finished_is_never_touched_again() -> None:
    """Every state of the scrollback above the region is a beginning of every later one."""
    stage = Stage(60, 12)
    stage.start_message()
    before: list[str] = []
    for chunk in pieces_of(TEXT[:6000], 20):
        stage.say([chunk])
        stage.wait(0.05)
        rows = stage.terminal.rows()
        region = len(stage.terminal.screen()) - stage.terminal.cursor_row
        finished = rows[: max(0, len(rows) - region)]
        assert finished[: len(before)] == before
        before = finished
    assert len(before) > 50


def test_an_open_block_taller_than_the_screen_shows_its_end_and_is_written_once_when_it_closes() -> None:
    table = "| n | square |\n|---|---|\n" + "".join(f"| {n} | {n * n} |\n" for n in range(100))
    stage = Stage(60, 12)
    stage.start_message()
    stage.say(pieces_of(table, 7), every_s=0.02)
    stage.wait(0.1)
    screen = stage.terminal.screen()
    assert any("9801" in row for row in screen)
    assert len(stage.terminal.rows()) <= 12
    stage.complete()
    assert stage.terminal.rows() == one_shot(table, 60)


def test_a_frame_is_one_write_in_brackets() -> None:
    stage = Stage()
    stage.start_message()
    stage.say(CHUNKS[:200], every_s=0.03)
    frames = [text for _, text in stage.tape.frames]
    assert len(frames) > 50
    assert all(frame.startswith("\x1b[?2026h") and frame.endswith("\x1b[?2026l") for frame in frames)


def test_the_first_text_is_shown_within_a_frame_and_the_last_before_the_turn_closes() -> None:
    stage = Stage()
    stage.wait(1)
    stage.start_message()
    stage.say(["Hello"])
    stage.wait(0.05)
    assert "Hello" in stage.terminal.screen()[0]
    stage.say([" world"])
    stage.complete()
    assert stage.terminal.rows() == ["Hello world"]


def test_an_idle_turn_redraws_its_status_row_alone() -> None:
    stage = Stage()
    stage.start_message()
    stage.say(["A paragraph.\n\nAnother one"])
    stage.wait(0.2)
    count = len(stage.tape.frames)
    stage.wait(1)
    frames = [text for _, text in stage.tape.frames[count:]]
    assert 5 <= len(frames) <= 11
    assert not any("paragraph" in frame or "Another" in frame for frame in frames)


@pytest.mark.parametrize("lines", [1, 2, 3, 4])
def test_a_screen_with_hardly_any_lines_still_gets_its_text(lines: int) -> None:
    stage = Stage(30, lines)
    stage.start_message()
    stage.say(pieces_of(answer(2), 5), every_s=0.01)
    stage.call("c", "tool", ['{"a":1}'], {"a": 1})
    stage.end("c", "ok")
    stage.complete()
    rows = stage.terminal.rows()
    assert rows[: len(one_shot(answer(2), 30))] == one_shot(answer(2), 30)
    check_region([frame for _, frame in stage.tape.frames], max(lines, 2))


def test_joined_characters_wider_than_thought_cut_a_row_of_the_region_but_never_the_text() -> None:
    family = "👨‍👩‍👧‍👦"  # two cells for rich, eight for this terminal
    text = f"{family * 12} end\n\n{family} done"
    stage = Stage(40, 10)
    stage.start_message()
    stage.say(pieces_of(text, 1), every_s=0.05)
    check_region([frame for _, frame in stage.tape.frames], 10)
    stage.complete()
    assert condensed(stage.terminal.rows()) == condensed([text]).replace("\u200d", "")


def test_escape_sequences_of_a_model_reach_no_terminal_wherever_they_come_from() -> None:
    attack = "\x1b]52;c;aGk=\x07\x1b[2J\x9b31m\x1b]8;;http://e\x1b\\\u202e"
    stage = Stage(thinking=True)
    stage.start_message()
    stage.say([f"thinking {attack}"], 0.1, kind="thinking")
    stage.say(
        list(f"text {attack}`{attack}` [{attack}](http://x/{attack})\n```{attack}\n{attack}code\n```\n"), 0.01
    )
    stage.call(
        "c", f"to{attack}ol", [f'{{"content": "line\\n{attack}\\u001b[2J\\nmore"}}'], {"content": attack}, 0.1
    )
    stage.run("c", f"progress {attack}")
    stage.wait(0.1)
    stage.end("c", f"result {attack}", is_error=True)
    stage.complete(reason=f"reason {attack}")
    check_bytes(stage.tape.text)
    rows = "\n".join(stage.terminal.rows())
    assert "text" in rows
    assert "code" in rows
