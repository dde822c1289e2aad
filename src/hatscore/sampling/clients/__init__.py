"""Clients of model servers."""
