"""Benchmarks: data plus small pure functions, and the registry that finds them by name."""

from hatscore.benchmarks.base import Benchmark, Item, Mode, Prompt, PromptLanguage
from hatscore.benchmarks.registry import get_benchmark, list_benchmarks

__all__ = [
    "Benchmark",
    "Item",
    "Mode",
    "Prompt",
    "PromptLanguage",
    "get_benchmark",
    "list_benchmarks",
]
