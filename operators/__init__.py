"""Rx operators, one idea a file. Each is an ordinary Rx operator; neighbours fuse (see `penstock.operators.stage`)."""
