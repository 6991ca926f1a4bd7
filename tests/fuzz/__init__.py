"""Whatever bytes are uploaded end in a table or a SweepError, in little time and memory: seeded cases made from every sample file.

`python -m tests.fuzz SEED` repeats one case, `python -m tests.fuzz FIRST END` runs several; test_fuzz.py runs them all on every core.
"""
