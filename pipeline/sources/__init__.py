"""Where chunks come from: anything that yields bytes, text or records, asynchronously or not."""

from penstock.sources.chunks import Chunk, chunks_of, lines

__all__ = ["Chunk", "chunks_of", "lines"]
