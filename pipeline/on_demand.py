"""Names of a package that are imported when first asked for: nobody pays for what they do not use."""

from collections.abc import Callable, Mapping
from importlib import import_module
from typing import Any

__all__ = ["names_on_demand"]


def names_on_demand(package: str, homes: Mapping[str, str]) -> Callable[[str], Any]:
    """The `__getattr__` of `package`: each name comes from the module of it that `homes` says."""

    def find(name: str) -> Any:
        if name not in homes:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        return getattr(import_module(f"{package}.{homes[name]}"), name)

    return find
