"""penstock: the output of models and coding agents as a calm, exact stream."""
