"""What was probably meant."""

from collections.abc import Iterable

__all__ = ["did_you_mean"]


def did_you_mean(name: object, names: Iterable[str]) -> str:
    """`; did you mean 'x'?`, or nothing where no name is near."""
    from difflib import get_close_matches

    by_lower = {known.lower(): known for known in names}
    near = get_close_matches(str(name).lower(), by_lower, n=1)
    return f"; did you mean {by_lower[near[0]]!r}?" if near else ""
