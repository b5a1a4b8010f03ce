"""Where log records go: a logger that is given, lines of our own, or what the application has set up."""

import sys
from pathlib import Path
from typing import Any, BinaryIO, Literal, TypeAlias

__all__ = ["LogFormat", "Output"]

LogFormat: TypeAlias = Literal["json", "console"]


class Output:
    """The choice, and once it is opened, the `logger` for a turn."""

    def __init__(self, logger: Any, format: LogFormat | None, target: str | Path | BinaryIO | None) -> None:
        self.logger = logger
        self._format = format
        self._target = target
        self._file: BinaryIO | None = None

    def open(self) -> "Output":
        """Ready for one turn."""
        opened = Output(self.logger, self._format, self._target)
        if self.logger is None:
            opened.logger = opened._make()
        return opened

    def close(self) -> None:
        if self._file is not None:
            self._file.close()
            self._file = None

    def _make(self) -> Any:
        # Imported where needed: structlog alone would double the import time of penstock.
        import structlog

        if self._format is None and self._target is None:
            if structlog.is_configured():
                return structlog.get_logger("penstock")
            if (standard := _standard_logger()) is not None:
                return standard
        return structlog.wrap_logger(
            structlog.BytesLogger(self._stream()),
            processors=[
                structlog.processors.add_log_level,
                structlog.processors.TimeStamper(fmt="iso", utc=True),
                _console_line if self._format == "console" else _json_line,
            ],
            wrapper_class=structlog.BoundLogger,
            context_class=dict,
        )

    def _stream(self) -> BinaryIO:
        if isinstance(self._target, str | Path):
            self._file = Path(self._target).open("ab")  # noqa: SIM115  # closed with the turn
            return self._file
        return self._target or sys.stderr.buffer


def _json_line(_logger: Any, _method: str, record: Any) -> bytes:
    import orjson

    return orjson.dumps(record, default=str, option=orjson.OPT_NON_STR_KEYS)


def _console_line(_logger: Any, _method: str, record: Any) -> bytes:
    """`12:30:01 info  text  text='…' block_index=0`; values are quoted, so that none can forge a line."""
    at = record.pop("timestamp")[11:19]
    level, name = record.pop("level"), record.pop("event")
    return f"{at} {level:<7} {name:<15} {_pairs(record)}".rstrip().encode("utf-8", "replace")


def _standard_logger() -> Any:
    """The application's `logging`, where it has handlers for us; `record.penstock` has the fields.

    Also on a terminal, where it shows warnings and errors alone: lines would run through the display.
    """
    import logging

    import structlog

    logger = logging.getLogger("penstock")
    if not logger.hasHandlers() and not sys.stderr.isatty():
        return None
    return structlog.wrap_logger(
        logger,
        processors=[structlog.stdlib.filter_by_level, _standard_record],
        wrapper_class=structlog.stdlib.BoundLogger,
        context_class=dict,
    )


def _standard_record(_logger: Any, _method: str, record: Any) -> dict[str, Any]:
    name = record.pop("event")
    return {"msg": f"{name} {_pairs(record)}".rstrip(), "extra": {"penstock": dict(record)}}


def _pairs(record: Any) -> str:
    return " ".join([f"{key}={value!r}" for key, value in record.items()])
