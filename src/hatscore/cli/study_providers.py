"""Whether the providers of a study can be used: a key or a package that is missing, found early."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from typing import TYPE_CHECKING

from hatscore.cli.prepared import runs_in_workers
from hatscore.errors import ModelError
from hatscore.judging import make_judges

if TYPE_CHECKING:
    from hatscore.cli.prepared import Prepared
    from hatscore.sampling.start import NamedClient

__all__ = ["Providers"]


class Providers:
    """Providers by the model that is asked for, each tried once.

    Nothing is sent. Servers are not asked, and none is started: whether they answer is known when
    it is their turn, and one that does not stops no other.
    """

    def __init__(self) -> None:
        self._problems: dict[tuple[str | None, str], str] = {}

    def require(self, prepared: Prepared) -> None:
        """Refuse a model, or its judges, whose provider cannot be used.

        Raises
        ------
        ModelError
            Says why.
        """
        request = prepared.request
        if not runs_in_workers(request):
            self._require(prepared.client)
        if request.judges:
            judges = make_judges(request.judges, base_url=request.judge_url)
            for name, client in zip(request.judges, judges, strict=True):
                if not runs_in_workers(replace(request, model=name, base_url=request.judge_url)):
                    self._require(client)

    def _require(self, client: NamedClient) -> None:
        if client.kind != "inspect":
            return
        key = (client.base_url, client.name)
        if key not in self._problems:
            self._problems[key] = asyncio.run(_problem(client))
        if self._problems[key]:
            raise ModelError(self._problems[key])


async def _problem(client: NamedClient) -> str:
    try:
        await client.check()
    except ModelError as error:
        return str(error)
    finally:
        await client.close()
    return ""
