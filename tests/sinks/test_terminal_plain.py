"""Places without cursor movements, and encodings without characters (USERS 9, 10)."""

import io
from dataclasses import replace

import pytest
from terminals import LIVE, Stage, Tape

from penstock.sinks.choose import Look
from penstock.sinks.terminal import TerminalSink

DUMB = Look(form="terminal", is_live=False, has_color=False, has_unicode=True)


def turn_on(stage: Stage) -> None:
    stage.start_message()
    stage.say(["# Title\n\n", "Some **bold** text\n\n- a\n- b"], 0.1)
    stage.call("c", "bash", ['{"command": "ls"}'], {"command": "ls"})
    stage.end("c", "ok")
    stage.complete()


EXPECTED = ["Title", "", "Some bold text", "", "• a", "• b", "", "✓ bash  ls · 0.0s · ok"]


def test_a_dumb_terminal_gets_the_rows_that_stay_and_no_escape() -> None:
    stage = Stage(look=DUMB)
    turn_on(stage)
    assert "\x1b" not in stage.tape.text
    assert "\r" not in stage.tape.text
    assert stage.tape.text.split("\n") == [*EXPECTED, ""]


def test_colours_that_are_insisted_on_are_only_styles() -> None:
    stage = Stage(look=replace(DUMB, has_color=True))
    turn_on(stage)
    assert "\x1b[1mbold\x1b[0m" in stage.tape.text
    assert "\x1b[?" not in stage.tape.text


def test_without_colour_a_live_display_has_none_but_may_be_bold() -> None:
    stage = Stage(look=replace(LIVE, has_color=False))
    turn_on(stage)
    assert stage.terminal.rows() == EXPECTED
    assert "\x1b[1m" in stage.tape.text
    assert "\x1b[32m" not in stage.tape.text
    assert "\x1b[36m" not in stage.tape.text


def test_without_unicode_signs_plain_ones_stand_for_them() -> None:
    stage = Stage(look=replace(LIVE, has_unicode=False))
    turn_on(stage)
    assert stage.terminal.rows()[4:] == ["* a", "* b", "", "+ bash  ls - 0.0s - ok"]


@pytest.mark.parametrize("is_live", [True, False])
@pytest.mark.parametrize("encoding", ["cp1252", "ascii"])
def test_no_character_is_too_much_for_the_encoding_of_a_terminal(encoding: str, is_live: bool) -> None:
    raw = io.BytesIO()
    stream = io.TextIOWrapper(raw, encoding=encoding, newline="")
    stage = Stage()
    look = replace(LIVE, is_live=is_live, has_unicode=False)
    sink = TerminalSink(stream, look=look, clock=stage.sink.clock, size=lambda: (80, 24), keys=False)
    stage.turn = sink.open("t")
    stage.start_message()
    stage.say(["日本 ✓ 👩‍🔧 é text …", "\n\nmore"], 0.1)
    stage.complete()
    assert b"text" in raw.getvalue()


def test_a_stream_of_a_terminal_is_flushed_with_every_frame() -> None:
    flushed: list[int] = []

    class Watched(Tape):
        def flush(self) -> None:
            flushed.append(len(self.frames))

    stage = Stage()
    tape = Watched()
    stage.turn = TerminalSink(tape, look=LIVE, clock=stage.sink.clock, size=lambda: (80, 24), keys=False).open("t")
    stage.start_message()
    stage.say(["text"], 0.2)
    assert flushed[-1] == len(tape.frames)
