"""The package version, read by the build and stored in every run."""

__version__ = "0.1.0"
