"""Whatever was sampled elsewhere or before, as Outcomes."""

from __future__ import annotations

from hatscore.readers.registry import read

__all__ = ["read"]
