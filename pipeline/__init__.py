"""penstock: the output of models and coding agents as a calm, exact stream."""

__version__ = "0.1.0"
