"""What the registry knows of a model that is asked for: its real name and what it takes."""

from __future__ import annotations

import os
from dataclasses import replace
from typing import TYPE_CHECKING

import click

from hatscore.models import load_models, resolve
from hatscore.sampling.start import URL_VARIABLES

if TYPE_CHECKING:
    from collections.abc import Callable

    from hatscore.cli.request import Request
    from hatscore.models import Resolved

__all__ = ["as_known", "spec_of"]


def as_known(request: Request, *, say: Callable[[str], None] | None = None) -> Request:
    """Return the request with the provider parameters of a registered model.

    What it refuses is left out, what it needs is added; warnings (retired, unsure) go to `say`,
    default stderr. Other models pass unchanged. The name stays ``paper/...``, so that two
    thinking settings of one model are two models.
    """
    found = _registered(request)
    if found is None:
        return request
    for warning in found.warnings:
        text = f"Warning: {warning}"
        click.echo(text, err=True) if say is None else say(text)
    extra = {**found.parameters, **request.params.extra}
    refused = dict.fromkeys(found.refused)
    return replace(request, params=replace(request.params, **refused, extra=extra))


def spec_of(request: Request) -> str:
    """Return what the client is made from: the registered model's provider and id, or the name."""
    found = _registered(request)
    return request.model if found is None else found.spec


def _registered(request: Request) -> Resolved | None:
    has_address = any(os.environ.get(name) for name in URL_VARIABLES)
    server = True if request.base_url is not None else None if has_address else False
    return resolve(request.model, server=server, registry=load_models(request.model_files))
