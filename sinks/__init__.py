"""Where updates end: terminals, logs, callbacks, files."""
