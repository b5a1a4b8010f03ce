"""Values as TOML writes them."""

import json
import re
from collections.abc import Mapping
from typing import Any

__all__ = ["as_toml"]

_BARE = re.compile(r"[A-Za-z0-9_-]+")


def as_toml(value: Any) -> str:
    """A value in one line."""
    if isinstance(value, Mapping):
        members = ", ".join(f"{_key(str(key))} = {as_toml(member)}" for key, member in value.items())
        return f"{{ {members} }}" if members else "{}"
    if isinstance(value, list | tuple):
        return f"[{', '.join(map(as_toml, value))}]"
    return json.dumps(value, ensure_ascii=False)


def _key(name: str) -> str:
    return name if _BARE.fullmatch(name) else json.dumps(name, ensure_ascii=False)
