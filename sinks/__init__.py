"""Where updates end: terminals, logs, callbacks, files. Each is imported when it is first asked for."""

from typing import TYPE_CHECKING

from penstock.on_demand import names_on_demand

if TYPE_CHECKING:
    from penstock.sinks.callbacks import CallbackSink
    from penstock.sinks.final import FinalSink
    from penstock.sinks.jsonl import JsonlSink
    from penstock.sinks.jsonl_store import JsonlStore
    from penstock.sinks.log import LogSink
    from penstock.sinks.mailbox import Mailbox, MailboxStatistics
    from penstock.sinks.otel import OtelSink
    from penstock.sinks.sink import Item, Sink
    from penstock.sinks.sqlite_store import SqliteStore
    from penstock.sinks.terminal import TerminalSink
    from penstock.sinks.text import TextSink
    from penstock.sinks.view import ViewSink

__all__ = [
    "CallbackSink",
    "FinalSink",
    "Item",
    "JsonlSink",
    "JsonlStore",
    "LogSink",
    "Mailbox",
    "MailboxStatistics",
    "OtelSink",
    "Sink",
    "SqliteStore",
    "TerminalSink",
    "TextSink",
    "ViewSink",
]

__getattr__ = names_on_demand(
    __name__,
    {
        "CallbackSink": "callbacks",
        "FinalSink": "final",
        "Item": "sink",
        "JsonlSink": "jsonl",
        "JsonlStore": "jsonl_store",
        "LogSink": "log",
        "Mailbox": "mailbox",
        "MailboxStatistics": "mailbox",
        "OtelSink": "otel",
        "Sink": "sink",
        "SqliteStore": "sqlite_store",
        "TerminalSink": "terminal",
        "TextSink": "text",
        "ViewSink": "view",
    },
)
