"""Where updates end: terminals, logs, callbacks, files."""

from penstock.sinks.callbacks import CallbackSink
from penstock.sinks.jsonl import JsonlSink
from penstock.sinks.jsonl_store import JsonlStore
from penstock.sinks.log import LogSink
from penstock.sinks.mailbox import Mailbox, MailboxStatistics
from penstock.sinks.sink import Item, Sink
from penstock.sinks.sqlite_store import SqliteStore
from penstock.sinks.terminal import TerminalSink
from penstock.sinks.text import TextSink

__all__ = [
    "CallbackSink",
    "Item",
    "JsonlSink",
    "JsonlStore",
    "LogSink",
    "Mailbox",
    "MailboxStatistics",
    "Sink",
    "SqliteStore",
    "TerminalSink",
    "TextSink",
]
