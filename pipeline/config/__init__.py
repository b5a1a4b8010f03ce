"""Configured per deployment: the same code, another file.

    pipeline = load_pipeline()                        # penstock.toml, PENSTOCK_… and the defaults
    pipeline = load_pipeline(profile="gateway", backend="openai-chat")

Later layers win: built-in defaults, the file (`penstock.toml`, or `[tool.penstock]` in `pyproject.toml`, the
nearest upwards from the working directory), the profile, the environment (`PENSTOCK_…`), arguments. A mistake
anywhere is a `ConfigurationError` that says in one line where it is and what was probably meant.
"""

from penstock.config.configuration import Configuration
from penstock.config.load import Loaded, is_configured, load, load_pipeline

__all__ = ["Configuration", "Loaded", "is_configured", "load", "load_pipeline"]
