"""A child process as a source: its standard output, its failure, its end."""

import asyncio
import os
import signal
import subprocess
from collections.abc import AsyncGenerator, Mapping, Sequence
from pathlib import Path

from penstock.errors import SourceFailed, UsageError
from penstock.sources.descriptor import Descriptor

__all__ = ["ChildFailed", "child_process"]

_STDERR_BYTES = 8 * 1024
_READ_BYTES = 64 * 1024
_LINGER_S = 1.0
_MAX_LAST_READS = 16  # a pipe holds less; a process that was left behind may never stop writing


class ChildFailed(SourceFailed):
    """A child ended with a status other than 0, or was killed; `stderr` has the end of what it wrote there."""

    def __init__(self, program: str, exit_status: int, stderr: str) -> None:
        self.exit_status = exit_status
        self.stderr = stderr
        how = f"was killed by {_signal_name(-exit_status)}"
        if exit_status > 0:
            how = f"exited with status {exit_status}"
        super().__init__(f"{program} {how}" + (f": {stderr}" if stderr else ""))


async def child_process(
    command: Sequence[str],
    *,
    cwd: str | Path | None = None,
    env: Mapping[str, str] | None = None,
    shares_stdin: bool = False,
    grace_s: float = 2.0,
) -> AsyncGenerator[bytes, None]:
    """The standard output of a command, in chunks as they are read: lines of any length, never held.

    **Failure.** An exit status other than 0, or death by a signal, raises `ChildFailed` after the last chunk,
    with the end of the child's standard error. That is so even where the stream itself was whole: an agent's
    status is its word about its work. What is no failure: anything written to standard error by a child that
    ends with 0; a child that goes on after closing its output (it is waited for); one that leaves processes
    behind which hold its output open (they are listened to until they are silent for a second).

    **Leaving early** (abort, cancellation, `aclose`) sends SIGTERM to the child and all it started, and SIGKILL
    after `grace_s`, or at once when cancelled again. Whatever happens, the child is reaped. It runs in a session
    of its own: an interrupt typed at the terminal reaches the reader of this source alone, who then ends the child.

    The child has nothing to read, unless it `shares_stdin`. A program that cannot be started is a `UsageError`.
    """
    output, output_end = os.pipe()
    errors, errors_end = os.pipe()
    tail = _Tail(errors)
    process: asyncio.subprocess.Process | None = None
    is_over = False
    try:
        try:
            # Pipes of our own: asyncio's would make the wait for the child a wait for all who hold them.
            process = await asyncio.create_subprocess_exec(
                *command,
                stdin=None if shares_stdin else subprocess.DEVNULL,
                stdout=output_end,
                stderr=errors_end,
                cwd=cwd,
                env=env,
                start_new_session=True,
            )
        except (OSError, ValueError) as error:
            raise UsageError(f"cannot start {command[0]!r}: {getattr(error, 'strerror', None) or error}") from error
        finally:
            os.close(output_end)
            os.close(errors_end)
        waiting = asyncio.ensure_future(process.wait())
        descriptor = Descriptor(output)
        waiting.add_done_callback(lambda _: descriptor.end_after_silence(_LINGER_S))
        while chunk := await descriptor.read():
            yield chunk
        exit_status = await asyncio.shield(waiting)
        is_over = True
        if exit_status != 0:
            raise ChildFailed(Path(command[0]).name, exit_status, tail.text())
    finally:
        try:
            if process is not None and not is_over:
                await _end(process.pid, waiting, grace_s)
        finally:
            tail.close()
            os.close(output)


async def _end(group: int, waiting: "asyncio.Future[int]", grace_s: float) -> None:
    """End a process group and reap its leader: asked first, killed after the grace, or when cancelled meanwhile."""
    _signal_group(group, signal.SIGTERM)
    try:
        await asyncio.wait([waiting], timeout=grace_s)
    finally:
        # The leader's own children may have outlived it.
        _signal_group(group, signal.SIGKILL)
        is_cancelled = False
        while not waiting.done():
            try:
                await asyncio.wait([waiting])
            except asyncio.CancelledError:
                is_cancelled = True
        if is_cancelled:
            raise asyncio.CancelledError


def _signal_group(group: int, number: signal.Signals) -> None:
    try:
        os.killpg(group, number)
    except ProcessLookupError:
        pass


def _signal_name(number: int) -> str:
    try:
        return signal.Signals(number).name
    except ValueError:
        return f"signal {number}"


class _Tail:
    """The end of what a child writes to standard error; the rest is read and forgotten, so that it never waits."""

    def __init__(self, descriptor: int) -> None:
        self._descriptor = descriptor
        self._kept = bytearray()
        self._loop = asyncio.get_running_loop()
        os.set_blocking(descriptor, False)
        self._loop.add_reader(descriptor, self._read)

    def _read(self) -> bool:
        try:
            piece = os.read(self._descriptor, _READ_BYTES)
        except BlockingIOError:
            return False
        if not piece:
            self._loop.remove_reader(self._descriptor)
            return False
        self._kept += piece
        del self._kept[:-_STDERR_BYTES]
        return True

    def text(self) -> str:
        """What there is, once the child has ended."""
        for _ in range(_MAX_LAST_READS):
            if not self._read():
                break
        return self._kept.decode("utf-8", "replace").strip()

    def close(self) -> None:
        self._loop.remove_reader(self._descriptor)
        os.close(self._descriptor)
