"""The measuring harness, `python -m bsmath.bench`: it times real training steps and writes files that the Upload page reads.

Only `gpt` and `throughput` import PyTorch, an optional extra (requirements-bench.txt); nothing outside this folder does.
"""
