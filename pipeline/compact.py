"""Compact parameters: one readable line for a tool call, up to date while its arguments stream.

    def deploy(parameters: Parameters) -> str:
        return f"{parameters.text('service')} → {parameters.text('stage')}"

    track_tools(formatters={"deploy": deploy})

A formatter sees its call's arguments as far as they have arrived and is asked again after every update, so
everything `Parameters` offers costs the same however long the arguments are. The line it returns may be of any
length and content: it is made safe and cut to width afterwards.
"""

import logging
from collections.abc import Mapping

from penstock.formatters import FORMATTERS, Formatter, default_line
from penstock.one_line import one_line
from penstock.parameters import Parameters

__all__ = ["CompactLine", "Formatter", "Parameters"]

_PUNCTUATION = str.maketrans("", "", "_-. ")


class CompactLine:
    """Makes the line of a call: by the deployment's formatter for its tool, else by ours, else by the default.

    Arguments our formatter finds nothing in are shown by the default once they are complete. A formatter that
    raises is reported once, and its tool shown by the default from then on.
    """

    def __init__(self, formatters: Mapping[str, Formatter] | None = None, width: int = 80) -> None:
        self._formatters = dict(formatters or {})
        self._width = width

    def __call__(self, tool_name: str, parameters: Parameters) -> str:
        formatter = self._formatters.get(tool_name)
        if formatter is None:
            formatter = self._formatters[tool_name] = _formatter_of(tool_name)
        try:
            line = formatter(parameters)
        except Exception:
            self._formatters[tool_name] = default_line
            logging.getLogger("penstock").exception("the formatter of tool %r failed", tool_name)
            line = ""
        if not line and (parameters.is_complete or parameters.error is not None):
            line = default_line(parameters)
        return one_line(line, self._width)


def _formatter_of(tool_name: str) -> Formatter:
    plain = tool_name.rpartition("__")[2].translate(_PUNCTUATION).lower().removesuffix("toolcall")
    return FORMATTERS.get(plain, default_line)
