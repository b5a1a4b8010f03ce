"""View modes by key: expanded is a frozen snapshot, collapsed is live (FR-007, FR-008, FR-009)."""

import asyncio

import pytest
from terminals import Stage

from penstock.sinks.terminal.keys import keys_in


def screen(stage: Stage) -> str:
    return "\n".join(stage.terminal.screen())


def press(stage: Stage, *keys: str) -> None:
    for key in keys:
        stage.turn._gate.run(stage.turn._press, key)


def working(stage: Stage) -> None:
    stage.start_message()
    stage.say(["A first paragraph.\n\nA second"], 0.1)
    stage.call(
        "c", "write_file", ['{"path": "a.py", "content": "one\\ntwo"}'], {"path": "a.py", "content": "one\ntwo"}
    )
    stage.end("c", "result line 1\nresult line 2")
    stage.start_message()
    stage.say(["Going on"], 0.1)


def test_expanded_shows_parameters_and_results_in_full() -> None:
    stage = Stage()
    working(stage)
    press(stage, "ctrl-o")
    seen = screen(stage)
    for part in ("A first paragraph.", "✓ write_file", "path: a.py", "content:", "two", "result line 2", "frozen"):
        assert part in seen


def test_expanded_is_frozen_also_at_completion_and_nothing_is_lost_FR_007() -> None:
    stage = Stage()
    working(stage)
    press(stage, "ctrl-o")
    before = stage.terminal.screen()
    frames = len(stage.tape.frames)
    stage.say([" with more.\n\nAnd", " more."], 0.2)
    stage.call("d", "bash", ['{"command": "ls"}'], {"command": "ls"})
    stage.end("d", "listing")
    stage.stop_message()
    stage.push()
    stage.wait(5)
    assert stage.terminal.screen() == before
    assert len(stage.tape.frames) == frames
    press(stage, "ctrl-o")
    seen = screen(stage)
    assert "Going on with more." in seen
    assert "✓ bash" in seen
    stage.complete()
    rows = stage.terminal.rows()
    assert [row for row in rows if row.startswith("Going on")] == ["Going on with more."]
    assert rows[-1].startswith("✓ bash  ls")


def test_a_tool_that_ended_while_expanded_tells_how_long_it_really_took() -> None:
    stage = Stage()
    stage.start_message()
    stage.call("d", "bash", ['{"command": "ls"}'], {"command": "ls"})
    press(stage, "ctrl-o")
    stage.wait(2)
    stage.end("d", "listing")
    stage.wait(60)
    press(stage, "ctrl-o")
    stage.complete()
    assert "· 2.0s ·" in stage.terminal.rows()[0]


def test_completed_while_expanded_everything_is_there_when_the_turn_closes() -> None:
    stage = Stage()
    working(stage)
    press(stage, "ctrl-o")
    stage.say([" to the end."])
    stage.complete()
    assert stage.terminal.rows()[-1] == "Going on to the end."
    assert not stage.terminal.is_cursor_hidden


def test_the_expanded_view_scrolls() -> None:
    stage = Stage(40, 10)
    stage.start_message()
    stage.say(["\n\n".join(f"Paragraph {n}." for n in range(50))], 0.1)
    press(stage, "ctrl-o")
    assert "Paragraph 49." in screen(stage)
    press(stage, "g")
    assert stage.terminal.screen()[0] == "Paragraph 0."
    press(stage, "j", "down")
    assert stage.terminal.screen()[0] == "Paragraph 1."
    press(stage, "k", "up")
    assert stage.terminal.screen()[0] == "Paragraph 0."
    press(stage, "space")
    assert stage.terminal.screen()[0] == "Paragraph 4."
    press(stage, "G")
    assert "Paragraph 49." in screen(stage)
    press(stage, *["page-down"] * 5)
    assert "Paragraph 49." in screen(stage)


def test_the_expanded_view_follows_a_resize() -> None:
    stage = Stage(40, 10)
    working(stage)
    press(stage, "ctrl-o")
    stage.terminal.resize(60, 20)
    stage.wait(0.5)
    assert "frozen" in stage.tape.frames[-1][1]
    press(stage, "ctrl-o")
    stage.complete()
    assert stage.terminal.rows()[0] == "A first paragraph."


def test_a_call_under_way_is_expanded_with_what_has_arrived_of_it() -> None:
    stage = Stage()
    stage.start_message()
    from penstock.events import BlockStart, ToolInputDelta

    stage.push(
        BlockStart("tool", 0, "m1", "c", "write_file"),
        ToolInputDelta('{"path": "a", "content": "x\\ny', 0, "c", "m1"),
    )
    stage.wait(0.1)
    press(stage, "ctrl-o")
    assert "path: a" in screen(stage)
    assert "    y" in screen(stage)


def test_thinking_is_part_of_the_expanded_view_only_where_it_was_asked_for() -> None:
    for thinking in (False, True):
        stage = Stage(thinking=thinking)
        stage.start_message()
        stage.say(["deep thoughts"], kind="thinking")
        press(stage, "ctrl-o")
        assert ("deep thoughts" in screen(stage)) is thinking


def test_question_mark_shows_the_keys_and_hides_them_again() -> None:
    stage = Stage()
    press(stage, "?")
    stage.wait(0.1)
    assert "ctrl-o  expanded view and back" in screen(stage)
    press(stage, "?")
    stage.wait(0.1)
    assert "expanded view" not in screen(stage)


def test_q_stops_the_turn_and_in_the_expanded_view_goes_back_first() -> None:
    stops: list[str] = []
    stage = Stage(on_stop=lambda: stops.append("stop"))
    press(stage, "ctrl-o", "q")
    assert not stops
    press(stage, "q")
    assert stops == ["stop"]


def test_q_without_a_handler_interrupts_as_ctrl_c_does() -> None:
    stage = Stage()
    with pytest.raises(KeyboardInterrupt):
        press(stage, "q")


def test_a_program_can_wait_until_its_reader_has_left_the_expanded_view(run_async: asyncio.Runner) -> None:
    stage = Stage()

    async def wait() -> list[bool]:
        await stage.sink.until_collapsed()
        press(stage, "ctrl-o")
        waiting = asyncio.ensure_future(stage.sink.until_collapsed())
        await asyncio.sleep(0)
        was_done = waiting.done()
        press(stage, "ctrl-o")
        await waiting
        return [was_done, waiting.done()]

    assert run_async.run(wait()) == [False, True]


def test_keys_after_the_turn_do_nothing() -> None:
    stage = Stage()
    stage.complete()
    press(stage, "ctrl-o", "q", "?")


def test_keys_are_recognised_also_several_at_once() -> None:
    assert keys_in("\x0fq?\x1b[A\x1b[6~\x1bOBj\x1b") == [
        "ctrl-o",
        "q",
        "?",
        "up",
        "page-down",
        "down",
        "j",
        "escape",
    ]
    assert keys_in("\x1b[200~\x00\x01") == []
