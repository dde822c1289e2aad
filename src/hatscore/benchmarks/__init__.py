"""Benchmarks: data, prompts and golds."""
