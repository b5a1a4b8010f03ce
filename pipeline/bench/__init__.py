"""Throughput of a deployment: workloads, the loop one would write by hand, and what measures them side by side."""
