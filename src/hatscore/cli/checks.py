"""What ``hatscore doctor`` looks at: each check says ok, missing or broken, and what to do."""

from __future__ import annotations

import importlib
import os
import platform
import shutil
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from datetime import UTC, datetime
from importlib.util import find_spec
from typing import TYPE_CHECKING, Literal

from hatscore._version import __version__
from hatscore.cli.version import EXTRAS, installed
from hatscore.errors import HatscoreError, ModelError

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

__all__ = ["KEYS", "Check", "core_checks", "font_checks", "optional_checks"]

OLDEST = (3, 11)
KEYS = (
    "HATSCORE_API_KEY",
    "ANTHROPIC_API_KEY",
    "AWS_ACCESS_KEY_ID",
    "AZUREAI_API_KEY",
    "DEEPSEEK_API_KEY",
    "FIREWORKS_API_KEY",
    "GEMINI_API_KEY",
    "GOOGLE_API_KEY",
    "GROQ_API_KEY",
    "HF_TOKEN",
    "MISTRAL_API_KEY",
    "OPENAI_API_KEY",
    "OPENROUTER_API_KEY",
    "PERPLEXITY_API_KEY",
    "SAMBANOVA_API_KEY",
    "TOGETHER_API_KEY",
    "XAI_API_KEY",
)
"""Variables that hold keys; only whether they are set is ever looked at."""

_MODULES = (
    "numpy", "scipy", "polars", "altair", "vl_convert", "aiohttp", "orjson", "babel", "jinja2",
    "rich", "fsspec", "zstandard", "num2words", "fontTools", "fontpkg_arimo",
)  # fmt: skip
_MB = 10**6
_LEAST_FREE = 100 * _MB
_WEIGHTS = 260 * _MB
_LOAD_TIMEOUT_S = 120
_NO_CLOCK_BEFORE = datetime(2025, 1, 1, tzinfo=UTC)
_UNASSIGNED = "\u0378"

Status = Literal["ok", "missing", "broken"]


@dataclass(frozen=True, slots=True)
class Check:
    """What was found of one part.

    Parameters
    ----------
    name
        The part.
    status
        ``ok``, ``missing`` (can be added) or ``broken`` (is there and does not work).
    detail
        What was found.
    advice
        What to do; empty where there is nothing to do.
    core
        Whether hatscore can do nothing useful without it.
    """

    name: str
    status: Status
    detail: str
    advice: str = ""
    core: bool = False


def core_checks(where: Path) -> Iterator[Check]:
    """Check what every measurement needs, with `where` as the working directory."""
    yield _python()
    yield _packages()
    yield _estimate()
    yield _writable(where)
    yield _disk("disk, working directory", where, _LEAST_FREE, core=True)
    yield _clock()


def optional_checks(*, start: bool) -> Iterator[Check]:
    """Check the charts and what the extras bring; `start` also starts the local model."""
    yield _charts()
    yield from _local(start=start)
    yield from _providers()
    yield _ray()
    yield _extra("data hub", "hub", "official benchmarks straight from their hub")


def font_checks(languages: Sequence[str]) -> Iterator[Check]:
    """Draw a letter of every script in which `languages` are written, and see whether it is there.

    The renderer of the figures draws the letter and a code point that no font has; where both
    look alike, no font on this machine has the letter.
    """
    from hatscore.languages import native_name, script

    try:
        nothing = _drawn(_UNASSIGNED)
    except Exception as error:  # noqa: BLE001 - whatever the native renderer raises
        yield Check("fonts", "broken", f"the renderer of figures fails: {error}", _reinstall())
        return
    by_script: dict[str, list[str]] = {}
    for tag in languages:
        by_script.setdefault(script(tag), []).append(tag)
    lacking = [
        code
        for code, tags in by_script.items()
        if _drawn(next(c for c in native_name(tags[0]) if c.isalpha())) == nothing
    ]
    drawn = sorted(by_script.keys() - set(lacking))
    if drawn:
        yield Check("fonts", "ok", f"figures can write {', '.join(drawn)}")
    if lacking:
        shown = ", ".join(f"{code} ({', '.join(by_script[code])})" for code in sorted(lacking))
        yield Check(
            "fonts",
            "missing",
            f"figures cannot write {shown}",
            "codes and English names are written everywhere; for native names install fonts, on "
            "Debian: apt install fonts-noto-core fonts-noto-cjk",
        )


def _python() -> Check:
    found = platform.python_version()
    if sys.version_info < OLDEST:
        wanted = ".".join(map(str, OLDEST))
        return Check("Python", "broken", found, f"install Python {wanted} or newer", core=True)
    return Check("Python", "ok", f"{found} at {sys.executable}", core=True)


def _packages() -> Check:
    lost = []
    for name in _MODULES:
        try:
            importlib.import_module(name)
        except Exception as error:  # noqa: BLE001 - a broken native package raises anything
            lost.append(f"{name}: {error}")
    if lost:
        return Check("packages", "broken", "; ".join(lost), _reinstall(), core=True)
    return Check("packages", "ok", f"hatscore {__version__}, {', '.join(_MODULES)}", core=True)


def _estimate() -> Check:
    """Score data whose score is known."""
    try:
        from hatscore.stats import hat_score

        value = hat_score([10, 5, 0], 10, [8, 3, 1], 10).value
    except Exception as error:  # noqa: BLE001 - a broken native package raises anything
        return Check("estimates", "broken", str(error), _reinstall(), core=True)
    # (10 * 8 + 5 * 3) / (10 * 10 + 100 / 90 * 5 * 4), each over 10 * 10
    expected = (80 + 15) / (100 + 5 * 4 / 9 * 10)
    if abs(value - expected) > 1e-9:  # noqa: PLR2004 - the rounding of doubles
        detail = f"a known score of {expected:.4f} came out as {value:.4f}"
        return Check("estimates", "broken", detail, _reinstall(), core=True)
    return Check("estimates", "ok", f"a known score came out as {value:.4f}", core=True)


def _writable(where: Path) -> Check:
    try:
        with tempfile.TemporaryFile(dir=where) as file:
            file.write(b"hatscore")
    except OSError as error:
        detail = f"{where}: {error.strerror or error}"
        advice = "go to a directory that can be written, or give -o elsewhere"
        return Check("write permission", "broken", detail, advice, core=True)
    return Check("write permission", "ok", f"{where} can be written", core=True)


def _disk(name: str, where: Path, least: int, *, core: bool) -> Check:
    place = next(p for p in (where, *where.parents) if p.exists())
    free = shutil.disk_usage(place).free
    detail = f"{free / 1000 / _MB:.1f} GB free at {place}"
    if free < least:
        return Check(name, "broken", detail, f"free at least {least // _MB} MB", core=core)
    return Check(name, "ok", detail, core=core)


def _clock() -> Check:
    now = datetime.now(UTC)
    if now < _NO_CLOCK_BEFORE:
        advice = "set the clock: runs are dated by it, and providers refuse requests"
        return Check("clock", "broken", f"{now:%Y-%m-%d %H:%M} UTC", advice, core=True)
    return Check("clock", "ok", f"{now:%Y-%m-%d %H:%M} UTC", core=True)


def _charts() -> Check:
    spec = {"data": {"values": [{"x": 1}]}, "mark": "point", "encoding": {"x": {"field": "x"}}}
    try:
        import vl_convert

        svg = vl_convert.vegalite_to_svg(spec)
    except Exception as error:  # noqa: BLE001 - whatever the native renderer raises
        return Check("figures", "broken", str(error), _reinstall())
    if not svg.startswith("<svg"):
        return Check("figures", "broken", f"no SVG but {svg[:40]!r}", _reinstall())
    return Check("figures", "ok", f"drawn by vl-convert {installed('vl-convert-python')}")


def _local(*, start: bool) -> Iterator[Check]:
    from hatscore.sampling.clients.weights import (
        DEMO_NAME,
        check_gguf,
        weights_directory,
    )

    missing = [name for name in EXTRAS["local"] if installed(name) is None]
    if missing:
        detail = f"not installed: {', '.join(missing)}"
        yield Check("local model", "missing", detail, _install("local"))
        return
    try:
        # native code may end its process: not this one
        done = subprocess.run(
            [sys.executable, "-c", "import xllamacpp"],
            capture_output=True,
            timeout=_LOAD_TIMEOUT_S,
            check=False,
            text=True,
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        yield Check("local model", "broken", f"xllamacpp does not load: {error}", _reinstall())
        return
    if done.returncode:
        said = (done.stderr.strip().splitlines() or [f"exit code {done.returncode}"])[-1]
        advice = f"{_install('local')} --force-reinstall; it needs a processor with AVX2"
        yield Check("local model", "broken", f"xllamacpp does not load: {said}", advice)
        return
    yield Check("local model", "ok", f"xllamacpp {installed('xllamacpp')} loads")
    home = weights_directory()
    weights = home / f"{DEMO_NAME}.gguf"
    if weights.exists():
        try:
            check_gguf(weights)
        except HatscoreError as error:
            yield Check("its weights", "broken", str(error), f"remove {weights}")
        else:
            yield Check("its weights", "ok", f"{weights}, {weights.stat().st_size // _MB} MB")
    else:
        advice = "nothing to do: the first start puts them together"
        yield Check("its weights", "missing", f"not yet at {weights}", advice)
        yield _disk("disk, cache", home, _WEIGHTS, core=False)
    if start:
        yield _started()


def _started() -> Check:
    import time

    from hatscore.sampling.clients.local import LocalServer

    begun = time.monotonic()
    try:
        with LocalServer() as server:
            detail = f"answers at {server.address} after {time.monotonic() - begun:.1f} s"
            return Check("start", "ok", detail)
    except (ModelError, OSError) as error:
        return Check("start", "broken", str(error), _install("local") + " --force-reinstall")


def _providers() -> Iterator[Check]:
    found = {name: installed(name) for name in EXTRAS["providers"]}
    there = ", ".join(f"{name} {version}" for name, version in found.items() if version)
    if found["inspect-ai"] is None:
        yield Check("providers", "missing", "inspect-ai is not installed", _install("providers"))
    elif None in found.values():
        lost = ", ".join(name for name, version in found.items() if version is None)
        yield Check("providers", "missing", f"{there}; not {lost}", _install("providers"))
    else:
        yield Check("providers", "ok", there)
    keys = [name for name in KEYS if os.environ.get(name)]
    if keys:
        yield Check("keys", "ok", f"set: {', '.join(keys)}")
    else:
        advice = "set the provider's variable, such as OPENAI_API_KEY; local models need none"
        yield Check("keys", "missing", "no variable with a key is set", advice)


def _ray() -> Check:
    found = installed("ray")
    if found is None or find_spec("ray") is None:
        return Check("Ray", "missing", "not installed", _install("cluster"))
    address = "RAY_ADDRESS is set" if os.environ.get("RAY_ADDRESS") else "RAY_ADDRESS is not set"
    return Check("Ray", "ok", f"{found}; no cluster was asked; {address}")


def _extra(name: str, extra: str, purpose: str) -> Check:
    (package,) = EXTRAS[extra]
    found = installed(package)
    if found is None:
        return Check(name, "missing", f"{package}, for {purpose}", _install(extra))
    return Check(name, "ok", f"{package} {found}")


def _drawn(letter: str) -> bytes:
    import vl_convert

    return bytes(
        vl_convert.svg_to_png(
            '<svg xmlns="http://www.w3.org/2000/svg" width="40" height="40">'
            f'<text x="5" y="30" font-size="24" font-family="sans-serif">{letter}</text></svg>'
        )
    )


def _install(extra: str) -> str:
    return f"pip install 'hatscore[{extra}]'"


def _reinstall() -> str:
    return "pip install --force-reinstall hatscore"
