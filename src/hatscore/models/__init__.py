"""What is known of models: size, date, settings, prices, and how to ask for them."""

from hatscore.models.entry import Model, Retirement
from hatscore.models.registry import Registry, Resolved, load_models, resolve

__all__ = ["Model", "Registry", "Resolved", "Retirement", "load_models", "resolve"]
