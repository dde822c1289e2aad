"""Raw replies from any model into one store; nothing is lost and nothing is graded here.

Importing this is light: the HTTP client and the local model are loaded by :func:`make_client`.
"""

from __future__ import annotations

from hatscore.sampling.budget import Budget, Usage
from hatscore.sampling.client import Client, Completion, SamplingParams
from hatscore.sampling.config import BenchmarkPlan, RunConfig
from hatscore.sampling.engine import sample
from hatscore.sampling.plan import SamplingPlan, parse_plan
from hatscore.sampling.run import Run
from hatscore.sampling.start import make_client, run_sampling, run_stages
from hatscore.sampling.store import Store, StoredItem, StoredResponse
from hatscore.sampling.tally import Progress, Summary
from hatscore.sampling.task import Cell, Task, make_tasks
from hatscore.sampling.warn import identical_share, warn_after, warn_before

__all__ = [
    "BenchmarkPlan",
    "Budget",
    "Cell",
    "Client",
    "Completion",
    "Progress",
    "Run",
    "RunConfig",
    "SamplingParams",
    "SamplingPlan",
    "Store",
    "StoredItem",
    "StoredResponse",
    "Summary",
    "Task",
    "Usage",
    "identical_share",
    "make_client",
    "make_tasks",
    "parse_plan",
    "run_sampling",
    "run_stages",
    "sample",
    "warn_after",
    "warn_before",
]
