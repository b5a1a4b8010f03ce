"""Prints a made-up turn as `claude -p --output-format stream-json --include-partial-messages` would."""

import json
import sys
import time
from typing import Any

PAUSE_S = 0.0 if "--fast" in sys.argv else 0.03


def say(record: dict[str, Any]) -> None:
    print(json.dumps({**record, "session_id": "s-1"}), flush=True)
    time.sleep(PAUSE_S)


def streamed(event: dict[str, Any]) -> None:
    say({"type": "stream_event", "event": event, "parent_tool_use_id": None})


def message(message_id: str, block: dict[str, Any], deltas: list[dict[str, Any]], stop_reason: str) -> None:
    """One message of one block, delta by delta, then the whole of it once more, as the agent does."""
    head = {"id": message_id, "type": "message", "role": "assistant", "model": "pretend-1", "stop_reason": None}
    usage = {"input_tokens": 12, "output_tokens": 7}
    empty = {key: "" if isinstance(value, str) and key == "text" else value for key, value in block.items()}
    if block["type"] == "tool_use":
        empty["input"] = {}
    streamed({"type": "message_start", "message": {**head, "content": [], "usage": usage}})
    streamed({"type": "content_block_start", "index": 0, "content_block": empty})
    for delta in deltas:
        streamed({"type": "content_block_delta", "index": 0, "delta": delta})
    say({"type": "assistant", "message": {**head, "content": [block], "usage": usage}, "parent_tool_use_id": None})
    streamed({"type": "content_block_stop", "index": 0})
    streamed({"type": "message_delta", "delta": {"stop_reason": stop_reason}, "usage": usage})
    streamed({"type": "message_stop"})


def main() -> None:
    say({"type": "system", "subtype": "init", "model": "pretend-1", "cwd": ".", "tools": ["Read"]})
    arguments = '{"file_path": "pump.py"}'
    call = {"type": "tool_use", "id": "toolu_1", "name": "Read", "input": json.loads(arguments)}
    cuts = range(0, len(arguments), 6)
    pieces = [{"type": "input_json_delta", "partial_json": arguments[at : at + 6]} for at in cuts]
    message("msg_1", call, pieces, "tool_use")
    result = {"type": "tool_result", "tool_use_id": "toolu_1", "content": "def pump(): ..."}
    say({"type": "user", "message": {"role": "user", "content": [result]}, "parent_tool_use_id": None})
    answer = "The pump has one function and it does nothing yet."
    words = [{"type": "text_delta", "text": word + " "} for word in answer.split()]
    words[-1]["text"] = words[-1]["text"].rstrip()
    message("msg_2", {"type": "text", "text": answer}, words, "end_turn")
    say({"type": "result", "subtype": "success", "is_error": False, "result": answer, "num_turns": 2})


if __name__ == "__main__":
    main()
