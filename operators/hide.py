"""Items of some classes do not go on."""

from typing import Any

from penstock.operators.stage import Operator, Stage

__all__ = ["hide"]


class Hide(Stage[Any, Any]):
    """Passes everything but items of the given classes. Nothing is held; endings are as they are."""

    def __init__(self, kinds: frozenset[type]) -> None:
        self._kinds = kinds

    def feed(self, item: Any) -> None:
        if type(item) not in self._kinds:
            self.emit(item)


def hide(*kinds: type) -> Operator[Any, Any]:
    """Drop items of these classes."""
    names = ", ".join(kind.__name__ for kind in kinds)
    return Operator(f"hide({names})", lambda: Hide(frozenset(kinds)))
