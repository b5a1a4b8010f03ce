"""Every backend penstock can read, by name; others join through the `penstock.backends` entry-point group."""

from penstock.backends.reader import Backend, Payload, Reader, Record
from penstock.backends.writer import Block, MessageWriter

__all__ = ["Backend", "Block", "MessageWriter", "Payload", "Reader", "Record"]
