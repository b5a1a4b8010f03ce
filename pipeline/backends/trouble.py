"""What backends say when something goes wrong, in one vocabulary.

| code | what happened | retryable |
| --- | --- | --- |
| `rate_limited` | too many requests or tokens; `retry_after_s` where the backend says | yes |
| `overloaded`, `server_error`, `timeout` | the backend's own trouble | yes |
| `quota_exceeded` | the account has nothing left | no |
| `authentication`, `permission_denied`, `not_found`, `invalid_request` | the request cannot succeed as it is | no |
| `context_length` | the conversation does not fit the model | no |
| `truncated` | the stream broke off before its end | yes |
| `backend_error` | an error without a name | no |

Any other code is the backend's own, in snake_case.
"""

import math
import re
from typing import Any

from penstock.events import StreamError

__all__ = ["trouble"]

RETRYABLE = {"rate_limited", "overloaded", "server_error", "timeout", "truncated"}

STATUS = {
    400: "invalid_request",
    401: "authentication",
    402: "quota_exceeded",
    403: "permission_denied",
    404: "not_found",
    408: "timeout",
    413: "invalid_request",
    422: "invalid_request",
    429: "rate_limited",
    503: "overloaded",
    504: "timeout",
    529: "overloaded",
}

NAMES = {
    "api_error": "server_error",
    "internal_server_error": "server_error",
    "internal_error": "server_error",
    "internal": "server_error",
    "service_unavailable": "overloaded",
    "unavailable": "overloaded",
    "overloaded_error": "overloaded",
    "server_overloaded": "overloaded",
    "rate_limit": "rate_limited",
    "rate_limit_error": "rate_limited",
    "rate_limit_exceeded": "rate_limited",
    "too_many_requests": "rate_limited",
    "resource_exhausted": "rate_limited",
    "requests": "rate_limited",
    "tokens": "rate_limited",
    "timeout_error": "timeout",
    "deadline_exceeded": "timeout",
    "insufficient_quota": "quota_exceeded",
    "billing_error": "quota_exceeded",
    "session_budget_exceeded": "quota_exceeded",
    "usage_limit_exceeded": "quota_exceeded",
    "authentication_error": "authentication",
    "authentication_failed": "authentication",
    "invalid_api_key": "authentication",
    "fatal_authentication_error": "authentication",
    "unauthenticated": "authentication",
    "unauthorized": "authentication",
    "permission_error": "permission_denied",
    "not_found_error": "not_found",
    "model_not_found": "not_found",
    "invalid_request_error": "invalid_request",
    "invalid_argument": "invalid_request",
    "bad_request": "invalid_request",
    "context_length_exceeded": "context_length",
    "context_window_exceeded": "context_length",
    "model_context_window_exceeded": "context_length",
}

NAME = re.compile(r"[A-Za-z][\w.-]*")
WAIT = re.compile(r"(?:try again|retry) (?:in|after) ((?:[\d.]+ ?(?:ms|h|m|s)[a-z]*\s*)+)", re.IGNORECASE)
SPAN = re.compile(r"([\d.]+) ?(ms|h|m|s)")
SECONDS = {"ms": 0.001, "s": 1.0, "m": 60.0, "h": 3600.0}


def trouble(error: Any, *clues: Any, is_fatal: bool = True) -> StreamError:
    """A backend's error, whatever its shape, as a `StreamError`.

    `error` is an object with any of `code`, `type`, `status`, `message` and the like, or the message alone;
    `clues` are names or numbers found elsewhere that say what kind of error it is.
    """
    if not isinstance(error, dict):
        error = {"message": error}
    message = error.get("message") or error.get("detail") or error.get("error") or ""
    if not isinstance(message, str):
        message = str(message)
    code = _code([error.get(key) for key in ("code", "type", "status", "status_code")] + list(clues))
    retry_after_s = _retry_after(error, message)
    return StreamError(code, message, code in RETRYABLE or retry_after_s is not None, retry_after_s, is_fatal)


def _code(clues: list[Any]) -> str:
    """The most telling of the clues: a name that is known, else the backend's own, else what a number means."""
    own = number = ""
    for clue in clues:
        if isinstance(clue, str) and NAME.fullmatch(clue):
            name = re.sub(r"[^a-z0-9]+", "_", re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", clue).lower()).strip("_")
            if NAMES.get(name, "invalid_request") != "invalid_request":
                return NAMES[name]
            own = own or NAMES.get(name, name)
        else:
            number = number or _status(clue)
    return own if own and own != "error" else number or "backend_error"


def _status(value: Any) -> str:
    try:
        status = int(value)
    except (TypeError, ValueError, OverflowError):
        return ""
    return STATUS.get(status) or ("server_error" if 500 <= status < 600 else "")


def _retry_after(error: dict[str, Any], message: str) -> float | None:
    metadata = error.get("metadata")
    headers = metadata.get("headers") if isinstance(metadata, dict) else None
    details = error.get("details")
    for source in (error, metadata, headers, *(details if isinstance(details, list) else ())):
        if isinstance(source, dict):
            for key, value in source.items():
                name = key.lower().replace("-", "_") if isinstance(key, str) else ""
                if name in ("retry_after", "retry_after_s", "retry_after_seconds", "retrydelay"):
                    return _seconds(value)
                if name == "retry_after_ms":
                    milliseconds = _seconds(value)
                    return None if milliseconds is None else milliseconds / 1000
    found = WAIT.search(message)
    return _seconds(found[1]) if found else None


def _seconds(value: Any) -> float | None:
    try:
        seconds = float(value)
    except (TypeError, ValueError):
        try:
            spans = [float(number) * SECONDS[unit] for number, unit in SPAN.findall(str(value))]
        except ValueError:
            return None
        seconds = sum(spans) if spans else -1.0
    return seconds if 0 <= seconds < math.inf else None
