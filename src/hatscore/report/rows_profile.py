"""Transfer profiles as plain records: how many items lie at each pair of success rates."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from hatscore.errors import InputError
from hatscore.report.blocks import CURVED_P
from hatscore.report.rows import label_of, rounded
from hatscore.report.text import headline, printable
from hatscore.scoring import MACRO
from hatscore.stats import profile

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from numpy.typing import NDArray

    from hatscore.outcomes import Aligned
    from hatscore.scoring import Measurement

__all__ = ["BINS", "decoded", "encoded", "profile_rows", "spread"]

BINS = 11
"""Rates are counted at 0, 0.1 ... 1: exact for ten replies, to the nearest tenth for others."""

_DIGITS = "0123456789abcdefghijklmnopqrstuvwxyz"
_BASE = len(_DIGITS)
_RUNS = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"


def profile_rows(
    blocks: Iterable[Aligned], measurements: Iterable[Measurement]
) -> list[dict[str, Any]]:
    """Return one record per (model, benchmark, target language) with its density of items.

    Parameters
    ----------
    blocks
        From `Outcomes.aligned`. Those without a measurement are passed over.
    measurements
        Of the same models and benchmarks.

    Returns
    -------
    list of dict
        ``model``, ``benchmark``, ``language``, ``label``, ``native_label``
            Whose profile.
        ``n``
            Items.
        ``density``
            Their counts over the grid of `BINS` x `BINS` rates, as `encoded` writes them: place
            ``BINS * i + j`` holds the items of source rate i / 10 and target rate j / 10.
        ``slope``, ``plugin``
            The score to read and whether it is the plug-in; None where there is none.
        ``b1``, ``b2``
            The noise-corrected curve ``b1 s + b2 s**2``, None where the data give none.
        ``curved``
            Whether the line does not hold, by `blocks.CURVED_P`; as in `score_rows`.
    """
    found = {(m.model, m.benchmark, m.language): m for m in measurements}
    rows = []
    for block in blocks:
        curves = profile(
            block.k_source,
            block.n_source,
            block.k_target,
            block.n_target,
            groups=block.groups,
            weights=block.weights,
        )
        for j, language in enumerate(block.languages):
            m = found.get((block.model, block.benchmark, language))
            if m is None or language == MACRO:
                continue
            name, hat = headline(m)
            counts = _counts(block, j)
            rows.append(
                {
                    "model": printable(m.model),
                    "benchmark": printable(m.benchmark),
                    "language": printable(language),
                    "label": label_of(language),
                    "native_label": label_of(language, native=True),
                    "n": int(counts.sum()),
                    "density": encoded(counts.ravel().tolist()),
                    "slope": rounded(hat.value),
                    "plugin": name == "hat_plugin",
                    "b1": rounded(curves[j].slope.value),
                    "b2": rounded(curves[j].curvature.value),
                    "curved": m.curvature_p < CURVED_P,
                }
            )
    return rows


def spread(rows: Iterable[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Return records of `profile_rows` with lists ``s``, ``t``, ``items`` in place of `density`.

    One entry per pair of rates that occurs. `charts.profiles` draws these; a page that holds the
    short form does the same in the browser.
    """
    result = []
    for row in rows:
        counts = decoded(row["density"])
        at = [i for i, n in enumerate(counts) if n]
        steps = BINS - 1
        result.append(
            {k: v for k, v in row.items() if k != "density"}
            | {
                "s": [i // BINS / steps for i in at],
                "t": [i % BINS / steps for i in at],
                "items": [counts[i] for i in at],
            }
        )
    return result


def encoded(counts: Sequence[int]) -> str:
    """Write counts as a short text.

    ``A`` to ``Z`` stand for 1 to 26 zeros, ``0`` to ``z`` (base 36) for one count below 36,
    ``~`` announces a count of two digits, ``!`` one of four.

    Raises
    ------
    InputError
        A count below 0, or of more than four digits (1,679,615).

    Examples
    --------
    >>> encoded([0, 0, 3, 40])
    'B3~14'
    """
    parts, zeros = [], 0
    for count in [*counts, None]:
        if count == 0:
            zeros += 1
            continue
        while zeros:
            run = min(zeros, len(_RUNS))
            parts.append(_RUNS[run - 1])
            zeros -= run
        if count is not None:
            parts.append(_number(count))
    return "".join(parts)


def decoded(text: str) -> list[int]:
    """Return the counts that `encoded` wrote.

    Raises
    ------
    InputError
        A sign that `encoded` does not write.
    """
    counts: list[int] = []
    i = 0
    while i < len(text):
        sign = text[i]
        width = {"~": 2, "!": 4}.get(sign, 0)
        if sign in _RUNS:
            counts += [0] * (_RUNS.index(sign) + 1)
        elif width or sign in _DIGITS:
            digits = text[i + 1 : i + 1 + width] if width else sign
            if len(digits) != max(width, 1) or any(d not in _DIGITS for d in digits):
                raise InputError(f"no density: {text!r} breaks at place {i}")
            counts.append(int(digits, _BASE))
        else:
            raise InputError(f"no density: {text!r} has {sign!r} at place {i}")
        i += 1 + width
    return counts


def _number(count: int) -> str:
    for width, mark in ((1, ""), (2, "~"), (4, "!")):
        if 0 <= count < _BASE**width:
            digits = [_DIGITS[count // _BASE**p % _BASE] for p in reversed(range(width))]
            return mark + "".join(digits)
    raise InputError(f"a density holds counts from 0 to {_BASE**4 - 1}, got {count}")


def _counts(block: Aligned, j: int) -> NDArray[np.int64]:
    """Count items over the grid, shape (BINS, BINS): source rate, target rate."""
    n_target = block.n_target[:, j]
    present = (n_target > 0) & (block.n_source > 0)
    s = block.k_source[present] / block.n_source[present]
    t = block.k_target[present, j] / n_target[present]
    place = np.stack([s, t]) * (BINS - 1)
    # a half goes up, as in school: 0.25 of four replies is 0.3, 0.75 is 0.8
    i, k = np.clip(np.floor(place + 0.5 + 1e-9).astype(np.int64), 0, BINS - 1)
    counts = np.zeros((BINS, BINS), dtype=np.int64)
    np.add.at(counts, (i, k), 1)
    return counts
