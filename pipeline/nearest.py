"""What was probably meant."""

from collections.abc import Iterable

__all__ = ["did_you_mean"]


def did_you_mean(name: object, names: Iterable[str]) -> str:
    """`; did you mean 'x'?`, or nothing where no name is near."""
    from difflib import get_close_matches

    near = get_close_matches(str(name).lower(), list(names), n=1, cutoff=0.6)
    return f"; did you mean {near[0]!r}?" if near else ""
