"""A list that is never changed, only followed by another: what an old reader holds stays as it was."""

from collections.abc import Iterator, Sequence
from typing import Any, Generic, TypeVar, overload

__all__ = ["Vector"]

T = TypeVar("T")

_BITS = 5
_WIDTH = 1 << _BITS
_MASK = _WIDTH - 1


class Vector(Sequence[T], Generic[T]):
    """An immutable sequence; `append` and `set` give a new one that shares all but a path of the old.

    A tree of tuples, 32 wide: with 10 items or with 100,000, a step copies at most four tuples of 32.
    """

    __slots__ = ("_depth", "_length", "_root")

    def __init__(self) -> None:
        self._root: tuple[Any, ...] = ()
        self._depth = 0
        self._length = 0

    @classmethod
    def _made(cls, root: tuple[Any, ...], depth: int, length: int) -> "Vector[T]":
        vector = cls.__new__(cls)
        vector._root, vector._depth, vector._length = root, depth, length
        return vector

    def append(self, item: T) -> "Vector[T]":
        """This vector with one item more."""
        root, depth = self._root, self._depth
        if self._length == _WIDTH ** (depth + 1):
            root, depth = (root,), depth + 1
        return self._made(_put(root, depth, self._length, item), depth, self._length + 1)

    def set(self, index: int, item: T) -> "Vector[T]":
        """This vector with another item at `index`."""
        return self._made(_put(self._root, self._depth, self._at(index), item), self._depth, self._length)

    def _at(self, index: int) -> int:
        place = index + self._length if index < 0 else index
        if not 0 <= place < self._length:
            raise IndexError(f"index {index} of a vector of {self._length}")
        return place

    def __len__(self) -> int:
        return self._length

    @overload
    def __getitem__(self, index: int) -> T: ...
    @overload
    def __getitem__(self, index: slice) -> Sequence[T]: ...
    def __getitem__(self, index: int | slice) -> T | Sequence[T]:
        if isinstance(index, slice):
            return [self[place] for place in range(*index.indices(self._length))]
        place = self._at(index)
        node: Any = self._root
        for level in range(self._depth, 0, -1):
            node = node[(place >> (_BITS * level)) & _MASK]
        item: T = node[place & _MASK]
        return item

    def __iter__(self) -> Iterator[T]:
        return _walk(self._root, self._depth)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Vector) and len(self) == len(other) and all(map(_same, self, other))

    def __hash__(self) -> int:
        return hash(tuple(self))

    def __repr__(self) -> str:
        return f"Vector({list(self)!r})"


def _same(one: object, other: object) -> bool:
    return one is other or one == other


def _put(node: tuple[Any, ...], depth: int, place: int, item: Any) -> tuple[Any, ...]:
    slot = (place >> (_BITS * depth)) & _MASK
    if depth:
        item = _put(node[slot] if slot < len(node) else (), depth - 1, place, item)
    return (*node[:slot], item, *node[slot + 1 :])


def _walk(node: tuple[Any, ...], depth: int) -> Iterator[Any]:
    if depth == 0:
        yield from node
    else:
        for child in node:
            yield from _walk(child, depth - 1)
