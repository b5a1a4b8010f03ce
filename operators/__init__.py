"""Rx operators, one idea a file. Each is an ordinary Rx operator; neighbours fuse (`penstock.operators.stage`)."""

from penstock.operators.batch import batch
from penstock.operators.coalesce import coalesce
from penstock.operators.decode_utf8 import decode_utf8
from penstock.operators.finalize import finalize
from penstock.operators.frame import frame
from penstock.operators.frame_error import FrameError
from penstock.operators.frame_json import frame_json
from penstock.operators.frame_lines import frame_lines
from penstock.operators.frame_sse import ServerSentEvent, frame_sse
from penstock.operators.hide import hide
from penstock.operators.limit_silence import limit_silence
from penstock.operators.normalize import normalize
from penstock.operators.phase import phase
from penstock.operators.read import read
from penstock.operators.redact import redact
from penstock.operators.reorder import reorder
from penstock.operators.route_tags import route_tags
from penstock.operators.stage import Operator, Stage
from penstock.operators.streaming_tool_calls import streaming_tool_calls
from penstock.operators.structured_tools import structured_tools
from penstock.operators.to_deltas import to_deltas
from penstock.operators.tool_engine import tool_engine
from penstock.operators.track_messages import track_messages
from penstock.operators.track_tools import track_tools
from penstock.operators.view_gate import View, view_gate

__all__ = [
    "FrameError",
    "Operator",
    "ServerSentEvent",
    "Stage",
    "View",
    "batch",
    "coalesce",
    "decode_utf8",
    "finalize",
    "frame",
    "frame_json",
    "frame_lines",
    "frame_sse",
    "hide",
    "limit_silence",
    "normalize",
    "phase",
    "read",
    "redact",
    "reorder",
    "route_tags",
    "streaming_tool_calls",
    "structured_tools",
    "to_deltas",
    "tool_engine",
    "track_messages",
    "track_tools",
    "view_gate",
]
