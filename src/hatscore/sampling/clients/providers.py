"""Providers that are reached through inspect_ai, by the names that it gives them."""

from __future__ import annotations

__all__ = ["PROVIDERS"]

PROVIDERS = (
    "anthropic",
    "azureai",
    "bedrock",
    "deepseek",
    "fireworks",
    "google",
    "grok",
    "groq",
    "hf",
    "mistral",
    "mockllm",
    "ollama",
    "openai",
    "openrouter",
    "perplexity",
    "sambanova",
    "sglang",
    "together",
    "vllm",
)
