"""Real children: what they print, how they fail, and that none outlives its reader."""

import asyncio
import errno
import os
import signal
import subprocess
import sys
import textwrap
from contextlib import aclosing
from pathlib import Path

import pytest
from chat_stream import answer, event

from penstock.errors import UsageError
from penstock.pipeline import Pipeline
from penstock.settings import Settings
from penstock.sinks.callbacks import CallbackSink
from penstock.sources import process
from penstock.sources.process import ChildFailed, child_process

pytestmark = pytest.mark.skipif(os.name != "posix", reason="children are ended by process group")


def python(program: str) -> list[str]:
    return [sys.executable, "-u", "-c", textwrap.dedent(program)]


async def output_of(command: list[str]) -> bytes:
    async with aclosing(child_process(command)) as chunks:
        return b"".join([chunk async for chunk in chunks])


def is_alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except OSError as error:
        return error.errno != errno.ESRCH
    return True


def has_zombie() -> bool:
    """Whether this process has a child that ended and was never waited for."""
    try:
        pid, _ = os.waitpid(-1, os.WNOHANG)
    except ChildProcessError:
        return False
    return pid != 0


def test_the_output_arrives_byte_for_byte(run_async: asyncio.Runner) -> None:
    program = "import sys; sys.stdout.buffer.write(bytes(range(256)) * 1000)"
    assert run_async.run(output_of(python(program))) == bytes(range(256)) * 1000


def test_the_output_arrives_while_the_child_runs(run_async: asyncio.Runner) -> None:
    async def first_chunk() -> bytes:
        async with aclosing(child_process(python("print('first'); import time; time.sleep(60)"))) as chunks:
            return await anext(chunks)

    assert run_async.run(first_chunk()).startswith(b"first")
    assert not has_zombie()


def test_a_child_has_nothing_to_read_unless_told_otherwise(run_async: asyncio.Runner) -> None:
    assert run_async.run(output_of(python("import sys; print(repr(sys.stdin.read()))"))) == b"''\n"


def test_what_a_successful_child_writes_to_standard_error_is_no_failure(run_async: asyncio.Runner) -> None:
    assert run_async.run(output_of(python("import sys; sys.stderr.write('x' * 300_000); print('ok')"))) == b"ok\n"


def test_a_failing_child_raises_after_its_output_with_status_and_standard_error(run_async: asyncio.Runner) -> None:
    async def read() -> tuple[bytes, ChildFailed]:
        seen = b""
        try:
            async for chunk in child_process(python("import sys; print('partial'); sys.exit('no key\\nset one')")):
                seen += chunk
        except ChildFailed as failed:
            return seen, failed
        raise AssertionError("it did not fail")

    seen, failed = run_async.run(read())
    assert seen == b"partial\n"
    assert failed.exit_status == 1
    assert failed.stderr == "no key\nset one"
    assert "exited with status 1: no key" in str(failed)


def test_only_the_end_of_a_long_standard_error_is_kept(run_async: asyncio.Runner) -> None:
    program = "import sys; sys.stderr.write('x' * 1_000_000 + 'the reason'); sys.exit(3)"
    with pytest.raises(ChildFailed, match="status 3") as failed:
        run_async.run(output_of(python(program)))
    assert failed.value.stderr.endswith("the reason")
    assert len(failed.value.stderr) <= 8192


def test_a_killed_child_is_a_failure_that_names_the_signal(run_async: asyncio.Runner) -> None:
    with pytest.raises(ChildFailed, match="was killed by SIGKILL"):
        run_async.run(output_of(python("import os; os.kill(os.getpid(), 9)")))


@pytest.mark.parametrize("command", [["no-such-program-anywhere"], ["/"], ["a\0b"]])
def test_a_program_that_cannot_be_started_is_wrong_usage(run_async: asyncio.Runner, command: list[str]) -> None:
    with pytest.raises(UsageError, match="cannot start"):
        run_async.run(output_of(command))


def test_a_child_that_ignores_sigterm_is_killed_after_the_grace(run_async: asyncio.Runner) -> None:
    program = """
        import os, signal, time
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
        print(os.getpid(), end="")
        time.sleep(60)
    """

    async def leave_early() -> int:
        async with aclosing(child_process(python(program), grace_s=0.05)) as chunks:
            return int(await anext(chunks))

    assert not is_alive(run_async.run(leave_early()))
    assert not has_zombie()


def test_a_child_gets_the_grace_to_end_by_itself(run_async: asyncio.Runner, tmp_path: Path) -> None:
    note = tmp_path / "note"
    program = f"""
        import signal, sys, time
        def end(*_):
            open({str(note)!r}, "w").write("saved")
            sys.exit()
        signal.signal(signal.SIGTERM, end)
        print("ready")
        time.sleep(60)
    """

    async def leave_early() -> None:
        async with aclosing(child_process(python(program), grace_s=20)) as chunks:
            await anext(chunks)

    run_async.run(leave_early())
    assert note.read_text() == "saved"


def test_a_second_cancellation_kills_at_once(run_async: asyncio.Runner) -> None:
    program = """
        import os, signal, time
        signal.signal(signal.SIGTERM, lambda *_: print("asked"))
        print(os.getpid(), end="")
        while True: time.sleep(60)
    """

    async def cancel_twice() -> int:
        pids: list[int] = []

        async def read() -> None:
            async with aclosing(child_process(python(program), grace_s=60)) as chunks:
                async for chunk in chunks:
                    pids.append(int(chunk))
                    arrived.set()

        arrived = asyncio.Event()
        task = asyncio.create_task(read())
        await arrived.wait()
        task.cancel()
        await asyncio.sleep(0)
        await asyncio.sleep(0)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        return pids[0]

    assert not is_alive(run_async.run(cancel_twice()))
    assert not has_zombie()


def test_what_the_child_started_ends_with_it(run_async: asyncio.Runner, tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    grandchild = f"""
import time
with open({str(pipe)!r}, "w") as pipe:
    print("up", flush=True)
    time.sleep(20)
    pipe.write("it lives")
"""
    program = f"import subprocess, sys; subprocess.run([sys.executable, '-c', {grandchild!r}])"

    async def leave_early() -> None:
        async with aclosing(child_process([sys.executable, "-c", program])) as chunks:
            assert (await anext(chunks)).startswith(b"up")

    reading = os.open(pipe, os.O_RDONLY | os.O_NONBLOCK)
    run_async.run(leave_early())
    os.set_blocking(reading, True)
    assert os.read(reading, 100) == b"", "the pipe ends when its last writer does"
    os.close(reading)


def test_processes_left_behind_do_not_keep_the_stream_open(
    run_async: asyncio.Runner, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(process, "_LINGER_S", 0.05)
    program = """
        import subprocess, sys
        print("started", subprocess.Popen([sys.executable, "-c", "import time; time.sleep(60)"]).pid)
    """
    output = run_async.run(output_of(python(program)))
    assert output.startswith(b"started ")
    os.kill(int(output.split()[1]), signal.SIGKILL)


def test_a_child_that_dies_inside_a_character_leaves_the_text_before_it(run_async: asyncio.Runner) -> None:
    """Issue 3: one that dies mid-character: a clear error, and what had arrived stands."""
    torn = event({"content": "Hello. "}) + event({"content": "🌊"}).partition("🌊".encode())[0] + "🌊".encode()[:2]
    program = f"""
        import os, sys
        sys.stdout.buffer.write({torn!r}); sys.stdout.flush()
        os.kill(os.getpid(), 9)
    """

    async def read() -> tuple[str, str]:
        async with Pipeline(Settings(backend="openai-chat")).turn() as turn:
            reply = await turn.round(child_process(python(program)))
        assert reply.error is not None
        return reply.text, f"{reply.error.code}: {reply.error.message}"

    text, error = run_async.run(read())
    assert text == "Hello. "
    assert error.startswith("source_failed: python")
    assert "was killed by SIGKILL" in error


def test_an_abort_ends_the_child_and_keeps_what_it_said(run_async: asyncio.Runner) -> None:
    piece = event({"content": "kept"})
    program = f"import sys, time; sys.stdout.buffer.write({piece!r}); sys.stdout.flush(); time.sleep(60)"

    async def read() -> tuple[str, str]:
        arrived = asyncio.Event()
        sink = CallbackSink(on_content_update=lambda content: arrived.set())
        async with Pipeline(Settings(backend="openai-chat"), sinks=[sink]).turn() as turn:
            round_ = asyncio.create_task(turn.round(child_process(python(program))))
            await arrived.wait()
            turn.abort()
            reply = await round_
        return reply.text, turn.result.stop_reason

    assert run_async.run(read()) == ("kept", "aborted")
    assert not has_zombie()


MEASURE = """
import asyncio, resource, sys
from penstock.pipeline import Pipeline
from penstock.settings import Settings
from penstock.sources.process import child_process

child, = sys.argv[1:]

async def main():
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    async with Pipeline(Settings(backend="openai-chat", max_record_bytes=1 << 20)).turn() as turn:
        reply = await turn.round(child_process([sys.executable, "-c", child]))
    print(reply.text, reply.error, (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) // 1024)

asyncio.run(main())
"""


def test_200_mb_in_one_line_take_bounded_memory_where_the_line_is_not_wanted_whole() -> None:
    """Issue 3: the line is dropped while it arrives, and what follows it is read."""
    program = f"""
        import sys
        for _ in range(200): sys.stdout.write('x' * 1_000_000)
        sys.stdout.write('\\n'); sys.stdout.flush()
        sys.stdout.buffer.write({answer("after it")!r})
    """
    command = [sys.executable, "-c", MEASURE, textwrap.dedent(program)]
    result = subprocess.run(command, capture_output=True, text=True, check=True)
    *text, error, grown_mb = result.stdout.split()
    assert (" ".join(text), error) == ("after it", "None")
    assert int(grown_mb) < 40, f"{grown_mb} MB for a limit of 1 MB"
