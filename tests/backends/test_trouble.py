"""Errors of every wording in one vocabulary."""

from typing import Any

import pytest

from penstock.backends.trouble import trouble


@pytest.mark.parametrize(
    ("error", "code", "is_retryable"),
    [
        ({"type": "overloaded_error", "message": "Overloaded"}, "overloaded", True),
        ({"code": 503}, "overloaded", True),
        ({"code": "502"}, "server_error", True),
        ({"type": "api_error"}, "server_error", True),
        ({"status": "DEADLINE_EXCEEDED", "code": 504}, "timeout", True),
        ({"code": "rate_limit_exceeded", "type": "tokens"}, "rate_limited", True),
        ({"status": "RESOURCE_EXHAUSTED", "code": 429}, "rate_limited", True),
        ({"code": "insufficient_quota", "type": "insufficient_quota"}, "quota_exceeded", False),
        ({"code": "invalid_api_key", "type": "invalid_request_error"}, "authentication", False),
        ({"code": 401}, "authentication", False),
        ({"code": "context_length_exceeded", "type": "invalid_request_error"}, "context_length", False),
        ({"code": "tool_use_failed", "type": "invalid_request_error"}, "tool_use_failed", False),
        ({"type": "FatalTurnLimitedError"}, "fatal_turn_limited_error", False),
        ({"code": None, "type": "invalid_request_error"}, "invalid_request", False),
        ({"code": 400}, "invalid_request", False),
        ({"type": "error"}, "backend_error", False),
        ("out of memory", "backend_error", False),
        (None, "backend_error", False),
        ({"code": float("inf"), "type": 3}, "backend_error", False),
    ],
)
def test_codes_are_stable_and_say_whether_to_try_again(error: Any, code: str, is_retryable: bool) -> None:
    told = trouble(error)
    assert (told.code, told.retryable, told.is_fatal) == (code, is_retryable, True)


@pytest.mark.parametrize(
    ("error", "seconds"),
    [
        ({"retry_after": 2}, 2.0),
        ({"retry_after": "1.5"}, 1.5),
        ({"retry_after_ms": 250}, 0.25),
        ({"metadata": {"headers": {"Retry-After": "12"}}}, 12.0),
        ({"details": [{"@type": "other"}, {"retryDelay": "34.5s"}]}, 34.5),
        ({"message": "Rate limit reached. Please try again in 1m2.5s. Visit the site."}, 62.5),
        ({"message": "Please retry after 20 seconds."}, 20.0),
        ({"message": "Please try again in 6ms."}, 0.006),
        ({"message": "Please try again in a moment."}, None),
        ({"retry_after": "soon"}, None),
        ({"retry_after": -1}, None),
        ({"retry_after": "inf"}, None),
        ({"message": "try again in 1.2.3s"}, None),
    ],
)
def test_the_wait_is_read_wherever_a_backend_puts_it(error: Any, seconds: float | None) -> None:
    told = trouble({"code": 429, **error})
    assert told.retry_after_s == (seconds if seconds is None else pytest.approx(seconds))


def test_the_message_is_always_text() -> None:
    assert trouble({"message": {"a": 1}}).message == "{'a': 1}"
    assert trouble("boom").message == "boom"
    assert trouble({"detail": "boom"}).message == "boom"


def test_clues_from_elsewhere_name_an_error_that_has_no_name() -> None:
    assert trouble("boom", "overloaded").code == "overloaded"
    assert trouble("boom", "", None, "429").code == "rate_limited"
    assert trouble("no model like this", "no model like this").code == "backend_error"
    assert trouble("boom", is_fatal=False).is_fatal is False
