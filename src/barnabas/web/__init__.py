"""Metrics and health over HTTP, in a process of their own (docs/adr/0009).

`metrics_process` runs in the broker's process and minds the other one; everything else here runs there.
"""
