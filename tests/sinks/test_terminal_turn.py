"""What a turn looks like: rounds, tools, thinking, status, endings (issue 6; seeds 000 and 004)."""

from typing import Any

from terminals import Stage, check_bytes, pieces_of

from penstock.events import (
    BlockStart,
    MessageStart,
    StreamError,
    Text,
    TextDelta,
    ToolCompletion,
    ToolInvocation,
    Usage,
)

CODE = "".join(f"line {n}\n" for n in range(30))


def two_rounds(stage: Stage) -> None:
    stage.start_message()
    stage.say(pieces_of("Let me look at that.", 3), 0.02)
    stage.call("c1", "read_file", ['{"path": ', '"src/app.py"}'], {"path": "src/app.py"}, 0.05)
    stage.stop_message()
    stage.run("c1")
    stage.wait(0.5)
    stage.end("c1", "first line\nsecond")
    stage.start_message()
    stage.say(pieces_of("It is **fine**.\n\nReally.", 3), 0.02)
    stage.stop_message()


def screen(stage: Stage) -> str:
    return "\n".join(stage.terminal.screen()).rstrip()


def test_keeping_rounds_every_text_and_tool_stands_once_in_order() -> None:
    stage = Stage()
    two_rounds(stage)
    stage.complete()
    rows = stage.terminal.rows()
    assert rows[0:2] == ["Let me look at that.", ""]
    assert rows[2].startswith("✓ read_file  src/app.py · ")
    assert rows[2].endswith(" · first line (+1 lines)")
    assert rows[3:] == ["", "It is fine.", "", "Really."]


def test_replacing_rounds_only_the_final_message_remains_seed_004_SC3_SC4() -> None:
    stage = Stage(rounds="replace", tools=False)
    stage.start_message()
    stage.say(["Let me look at that."])
    stage.wait(0.1)
    assert screen(stage).startswith("Let me look at that.")
    stage.call("c1", "read_file", ['{"path": "x"}'], {"path": "x"})
    stage.wait(0.2)
    assert "Let me look at that." in screen(stage)
    assert "✓" not in screen(stage)
    stage.end("c1", "ok")
    stage.start_message()
    stage.say(["It is fine."])
    stage.wait(0.1)
    assert "Let me look" not in screen(stage)
    stage.complete()
    assert stage.terminal.rows() == ["It is fine."]
    check_bytes(stage.tape.text)


def test_replacing_rounds_a_long_answer_stays_smaller_than_the_screen_until_it_is_final() -> None:
    stage = Stage(40, 10, rounds="replace")
    stage.start_message()
    stage.say(pieces_of("\n\n".join(f"Paragraph {n}." for n in range(50)), 9), 0.03)
    stage.wait(0.2)
    assert len(stage.terminal.rows()) <= 9
    assert "Paragraph 49." in screen(stage)
    stage.complete()
    assert [row for row in stage.terminal.rows() if row] == [f"Paragraph {n}." for n in range(50)]


def test_replacing_rounds_a_resized_terminal_gets_the_final_message_at_its_new_width() -> None:
    stage = Stage(40, 10, rounds="replace")
    stage.start_message()
    stage.say(["A paragraph that takes two rows at forty.\n\nAnother."])
    stage.wait(0.2)
    stage.terminal.resize(80, 10)
    stage.complete()
    assert stage.terminal.rows() == ["A paragraph that takes two rows at forty.", "", "Another."]


def test_a_final_message_that_the_turn_names_is_shown_as_well() -> None:
    for rounds, expected in (("keep", ["Working.", "", "Done."]), ("replace", ["Done."])):
        stage = Stage(rounds=rounds)
        stage.start_message()
        stage.say(["Working."])
        stage.complete("Done.")
        assert stage.terminal.rows() == expected


def test_texts_of_one_round_are_one_text_although_thinking_stands_between_them() -> None:
    stage = Stage()
    stage.start_message()
    stage.say(["one **two"])
    stage.say(["hm"], kind="thinking")
    stage.say([" three**"])
    stage.complete()
    assert stage.terminal.rows() == ["one two three"]


def test_thinking_is_hidden_unless_asked_for_and_then_only_its_latest_line_is_shown() -> None:
    for thinking in (False, True):
        stage = Stage(thinking=thinking)
        stage.start_message()
        stage.say(["first\nsecond", " thought"], 0.1, kind="thinking")
        assert ("second thought" in screen(stage)) is thinking
        assert "first" not in screen(stage)
        assert "Thinking" in screen(stage) or "Waiting" in screen(stage)
        stage.say(["text"], 0.1)
        assert "thought" not in screen(stage)
        stage.complete()
        assert stage.terminal.rows() == ["text"]


def test_parallel_tools_have_a_line_each_with_live_parameters_FR_006_FR_009() -> None:
    stage = Stage()
    stage.start_message()
    stage.push(BlockStart("tool", 0, "m1", "a", "bash"), BlockStart("tool", 1, "m1", "b", "grep"))
    stage.call("c", "read_file", ['{"path": "src/', 'main.py"'], {"path": "src/main.py"}, 0.06)
    lines = [row for row in stage.terminal.screen() if row and "Calling" not in row and "Waiting" not in row]
    assert [row.split()[1] for row in lines[:3]] == ["bash", "grep", "read_file"]
    assert "src/main.py" in lines[2]


def test_a_file_being_written_shows_its_last_lines_while_it_is_written() -> None:
    stage = Stage()
    stage.start_message()
    arguments = '{"path": "a.txt", "content": "' + CODE.replace("\n", "\\n") + '"}'
    stage.push(BlockStart("tool", 0, "m1", "w", "write_file"))
    stage._block = 0
    stage.call("w", "write_file", pieces_of(arguments[:200], 10), {"path": "a.txt", "content": CODE}, 0.03)
    stage.run("w")
    seen = [text for _, text in stage.tape.frames if "│ " in text]
    assert any("line 13" in text for text in seen)
    stage.wait(0.2)
    assert "│" not in screen(stage)
    stage.end("w", "wrote 30 lines")
    stage.complete()
    assert len(stage.terminal.rows()) == 1


def test_a_failed_tool_says_so_and_an_interrupted_one_too() -> None:
    stage = Stage()
    stage.start_message()
    stage.call("a", "bash", ['{"command": "false"}'], {"command": "false"})
    stage.end("a", "exit status 1", is_error=True)
    stage.call("b", "bash", ['{"command": "sleep 9"}'], {"command": "sleep 9"})
    stage.complete(reason="aborted")
    rows = stage.terminal.rows()
    assert rows[0].startswith("✗ bash  false · ")
    assert "exit status 1" in rows[0]
    assert "interrupted" in rows[1]
    assert rows[-1] == "■ aborted"


def test_tools_of_a_subagent_stand_below_the_call_that_sent_it_while_they_run() -> None:
    stage = Stage()
    stage.start_message()
    stage.call("t", "task", ['{"description": "look around"}'], {"description": "look around"})
    stage.push(
        MessageStart("s1", parent_call_id="t"),
        BlockStart("text", 0, "s1", parent_call_id="t"),
        TextDelta("subagent text", 0, "s1", "t"),
        ToolInvocation("x", "grep", {"pattern": "foo"}, 1, "s1", "t"),
    )
    stage.wait(0.2)
    rows = stage.terminal.screen()
    assert "task" in rows[0]
    assert rows[1].startswith("  └ ")
    assert "grep" in rows[1]
    stage.push(ToolCompletion("x", "ok", parent_call_id="t", message_id="s1"))
    stage.end("t", "seen")
    stage.complete()
    (row,) = stage.terminal.rows()
    assert "· 1 calls ·" in row
    assert "subagent text" not in row


def test_more_tools_than_room_show_the_newest_and_how_many_more_there_are() -> None:
    stage = Stage(60, 10)
    stage.start_message()
    for n in range(20):
        stage.call(f"c{n}", f"tool_{n}", [f'{{"n": {n}}}'], {"n": n})
    stage.wait(0.2)
    assert "tool_19" in screen(stage)
    assert "more" in screen(stage)
    for n in range(20):
        stage.end(f"c{n}", "ok")
    stage.complete()
    assert [row.split()[1] for row in stage.terminal.rows()] == [f"tool_{n}" for n in range(20)]


def test_the_status_row_says_what_is_going_on() -> None:
    stage = Stage()
    assert "Waiting · 0.0s" in screen(stage)
    stage.start_message()
    stage.say(["x" * 50] * 20, 0.1)
    stage.push(BlockStart("text", 1, "m1"), TextDelta("y", 1, "m1"))
    stage.wait(0.2)
    assert "Writing" in screen(stage)
    assert "chars/s" in screen(stage)
    stage.push(Usage(output_tokens=1234, message_id="m1"))
    stage.wait(0.2)
    assert "1,234 tokens" in screen(stage)
    stage._block = 2
    stage.call("c", "bash", ['{"command": "ls"}'], {"command": "ls"})
    stage.stop_message()
    stage.run("c")
    stage.wait(0.2)
    assert "Running bash" in screen(stage)
    stage.wait(70)
    assert "1m 1" in screen(stage)


def test_an_error_that_breaks_the_stream_off_is_shown_after_the_partial_text() -> None:
    stage = Stage()
    stage.start_message()
    stage.say(["partial"])
    stage.push(StreamError("overloaded", "try again", message_id="m1"))
    stage.complete(reason="error")
    assert stage.terminal.rows() == ["partial", "", "✗ overloaded: try again"]


def test_trouble_that_the_stream_survives_is_not_shown() -> None:
    stage = Stage()
    stage.start_message()
    stage.push(StreamError("bad_record", "skipped", is_fatal=False))
    stage.say(["fine"])
    stage.complete()
    assert stage.terminal.rows() == ["fine"]


def final(stage: Stage, text: str) -> Any:
    stage.push(Text(text, 0, "m1"))


def test_a_final_that_says_what_was_streamed_changes_nothing() -> None:
    stage = Stage()
    stage.start_message()
    stage.say(["one\n\n", "two"], 0.1)
    final(stage, "one\n\ntwo")
    stage.complete()
    assert stage.terminal.rows() == ["one", "", "two"]


def test_a_final_that_differs_only_in_what_is_still_open_takes_its_place() -> None:
    stage = Stage()
    stage.start_message()
    stage.say(["one\n\n", "tw"], 0.1)
    final(stage, "one\n\nthree")
    stage.complete()
    assert stage.terminal.rows() == ["one", "", "three"]


def test_a_final_that_differs_in_what_stays_is_shown_whole_below_it() -> None:
    stage = Stage()
    stage.start_message()
    stage.say(["one\n\n", "two"], 0.1)
    final(stage, "1\n\ntwo")
    stage.complete()
    assert stage.terminal.rows() == ["one", "", "two", "", "└ rewritten:", "", "1", "", "two"]


def test_a_backend_that_does_not_stream_looks_the_same_in_the_end() -> None:
    stage = Stage()
    stage.push(MessageStart("m1"), Text("one\n\ntwo", 0, "m1"))
    stage.complete()
    assert stage.terminal.rows() == ["one", "", "two"]


def test_a_second_turn_on_the_same_sink_adds_its_text_above_the_first() -> None:
    stage = Stage()
    stage.start_message()
    stage.say(["first turn"])
    stage.wait(0.1)
    other: Any = stage.sink.open("other")
    inner = Stage()
    inner.start_message()
    inner.say(["second turn"])
    inner.turn.close()
    from penstock.updates import MessagesChanged

    other.on_next(MessagesChanged(inner.turn._display.messages))
    other.close()
    stage.wait(0.2)
    assert stage.terminal.screen()[0] == "second turn"
    assert "first turn" in screen(stage)
    stage.complete()
    assert stage.terminal.rows() == ["second turn", "first turn"]


def test_a_paused_display_leaves_the_terminal_to_others_and_then_goes_on() -> None:
    stage = Stage()
    stage.start_message()
    stage.say(["One.\n\nTwo"], 0.1)
    with stage.sink.paused():
        assert stage.terminal.rows() == ["One."]
        assert not stage.terminal.is_cursor_hidden
        stage.terminal.feed("May I? [y/n] y\r\n")
        frames = len(stage.tape.frames)
        stage.say([" and three."])
        stage.wait(5)
        assert len(stage.tape.frames) == frames
    assert "Two and three." in screen(stage)
    stage.complete()
    assert stage.terminal.rows() == ["One.", "May I? [y/n] y", "", "Two and three."]
    with stage.sink.paused():
        pass


def test_a_turn_that_ends_while_paused_shows_all_it_has_to_show() -> None:
    stage = Stage()
    stage.start_message()
    stage.say(["One."], 0.1)
    with stage.sink.paused():
        stage.complete()
    assert stage.terminal.rows() == ["One."]
    assert not stage.terminal.is_cursor_hidden


def test_status_alone_is_shown_while_it_lasts_and_leaves_nothing() -> None:
    stage = Stage(rounds="none")
    two_rounds(stage)
    assert "fine" not in screen(stage)
    stage.complete()
    assert stage.terminal.rows() == []


def test_no_timer_is_left_when_the_turn_is_over() -> None:
    stage = Stage()
    two_rounds(stage)
    stage.complete()
    count = len(stage.tape.frames)
    stage.wait(60)
    assert len(stage.tape.frames) == count
    stage.turn.close()
    assert len(stage.tape.frames) == count
