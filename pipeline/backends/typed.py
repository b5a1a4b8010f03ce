"""Readers whose records have a shape: decoded straight into structs, at half the cost of a dict."""

from typing import ClassVar, Generic, TypeVar

import msgspec

from penstock.backends.reader import Payload, Reader, Record

__all__ = ["TypedReader"]

Shape = TypeVar("Shape", bound=msgspec.Struct)


class TypedReader(Reader, Generic[Shape]):
    """A reader of records of one `shape`; subclasses write `read_shaped`.

    Keys that the shape does not name are skipped without being built. A record whose values are of other types
    than the shape's is kept as `Unknown`: nothing further down has to doubt what it is given.
    """

    shape: ClassVar[type[msgspec.Struct]]
    _decoder: ClassVar[msgspec.json.Decoder[msgspec.Struct]]

    def __init_subclass__(cls) -> None:
        cls._decoder = msgspec.json.Decoder(cls.shape)

    def feed(self, item: Payload) -> None:
        try:
            record: Shape = self._decoder.decode(item)  # type: ignore[assignment, arg-type]
        except (ValueError, TypeError):
            # Not JSON, not of the shape, or no text at all: the general way finds out, and comes back to `read`.
            super().feed(item)
            return
        self.read_shaped(record)

    def read(self, record: Record) -> None:
        try:
            shaped: Shape = msgspec.convert(record, self.shape)  # type: ignore[assignment]
        except ValueError:
            self.unknown(record)
            return
        self.read_shaped(shaped)

    def read_shaped(self, record: Shape) -> None:
        raise NotImplementedError
