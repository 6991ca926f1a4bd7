"""Batch-size mathematics for language-model training: formulas in tokens, seconds and FLOP, and fits to measured sweeps."""
