"""The terminal: a turn shown live, on rich; its parts are imported when a turn opens on one."""

from penstock.sinks.terminal.sink import TerminalSink

__all__ = ["TerminalSink"]
