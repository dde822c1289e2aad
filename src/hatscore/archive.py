"""Scores with their influence and counts as a file: compared later without the replies."""

from __future__ import annotations

import json
import math
from dataclasses import dataclass
from io import BytesIO
from pathlib import Path
from typing import TYPE_CHECKING, Any

import polars as pl

from hatscore._version import __version__
from hatscore.errors import InputError, ReaderError
from hatscore.outcomes import STATUS_COLUMNS, Outcomes
from hatscore.scoring import Measurement
from hatscore.stats import Estimate

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

__all__ = ["Archive", "is_archive", "read_archive", "read_scores", "write_scores"]

_KIND = "hatscore-scores"
_KEYS = ("model", "benchmark", "language")
_COUNTS = ("model", "benchmark", "item", "language", "source_language", "n", "k")
_USUAL = {
    "group": pl.col("item"),
    "chance": pl.lit(0.0),
    "weight": pl.lit(1.0),
    **{name: pl.lit(0) for name in STATUS_COLUMNS},
}


@dataclass(frozen=True, slots=True)
class Archive:
    """What a file of scores holds.

    Attributes
    ----------
    found
        The scores.
    asked
        What was asked and how it was graded, as it was given to `write_scores`; empty in files
        older than this.
    outcomes
        The counts behind the scores; None in older files, and where they were not given.
    told
        Whether `outcomes` also has the notes on the data and how replies ended, which older files
        lack.
    """

    found: list[Measurement]
    asked: list[dict[str, Any]]
    outcomes: Outcomes | None
    told: bool = False


def write_scores(
    found: list[Measurement],
    path: str | Path,
    *,
    asked: Sequence[Mapping[str, Any]] = (),
    outcomes: Outcomes | None = None,
) -> None:
    """Write measurements with the influence of every cluster: JSON, or Parquet by the suffix.

    Parameters
    ----------
    found
        The scores.
    path
        Where to.
    asked
        What scores do not say and whoever compares them must know, as JSON can hold it.
    outcomes
        The counts behind `found`, how replies ended, and the notes on the data: with them models
        that have different items can be compared over those that both have.

    Raises
    ------
    InputError
        Another suffix than ``.json`` or ``.parquet``, or a place that cannot be written.
    """
    where = Path(path)
    rows: list[dict[str, Any]] = [
        {
            "model": m.model,
            "benchmark": m.benchmark,
            "language": m.language,
            "curvature_p": None if math.isnan(m.curvature_p) else m.curvature_p,
            "scores": {name: e.to_dict() for name, e in m.scores.items()},
        }
        for m in found
    ]
    if where.suffix == ".json":
        document: dict[str, Any] = {"kind": _KIND, "hatscore": __version__, "asked": list(asked)}
        if outcomes is not None:
            document["outcomes"] = _columns(outcomes)
            document["notes"] = list(outcomes.notes)
        document["measurements"] = rows
        data = json.dumps(document, allow_nan=False).encode()
    elif where.suffix == ".parquet":
        flat = [
            {**{k: row[k] for k in _KEYS}, "curvature_p": row["curvature_p"], "score": name}
            | {"estimate": json.dumps(plain, allow_nan=False)}
            for row in rows
            for name, plain in row["scores"].items()
        ]
        schema = dict.fromkeys([*_KEYS, "score", "estimate"], pl.String())
        frame = pl.DataFrame(flat, schema={**schema, "curvature_p": pl.Float64()})
        if outcomes is not None:
            counts = [json.dumps(_columns(outcomes)), *[None] * (frame.height - 1)]
            frame = frame.with_columns(pl.Series("outcomes", counts, dtype=pl.String))
        buffer = BytesIO()
        more = {} if outcomes is None else {"notes": json.dumps(list(outcomes.notes))}
        frame.write_parquet(
            buffer, metadata={"kind": _KIND, "asked": json.dumps(list(asked)), **more}
        )
        data = buffer.getvalue()
    else:
        raise InputError(f"{where}: scores are written as .json or .parquet")
    try:
        where.write_bytes(data)
    except OSError as error:
        raise InputError(
            f"{where}: scores cannot be written there: {error.strerror or error}; give a file in a "
            "directory that exists and can be written"
        ) from error


def is_archive(path: str | Path) -> bool:
    """Say whether the file at `path` was written by `write_scores`, by its content."""
    where = Path(path)
    if not where.is_file():
        return False
    with where.open("rb") as file:
        head = file.read(200)
    if head.startswith(b"PAR1"):
        try:
            return pl.read_parquet_metadata(where).get("kind") == _KIND
        except pl.exceptions.PolarsError:
            return False
    return f'"kind": "{_KIND}"'.encode() in head


def read_scores(path: str | Path) -> list[Measurement]:
    """Return the scores that `write_scores` wrote; raises as `read_archive`."""
    return read_archive(path).found


def read_archive(path: str | Path) -> Archive:
    """Return what `write_scores` wrote.

    Raises
    ------
    ReaderError
        The file is missing or not one of ours; the message names it.
    """
    where = Path(path)
    if not is_archive(where):
        raise ReaderError(f"{where}: no scores; expected a file written by `hatscore score --save`")
    try:
        if where.suffix == ".parquet":
            return _from_parquet(where)
        document = json.loads(where.read_text(encoding="utf-8"))
        found = [
            Measurement(
                row["model"],
                row["benchmark"],
                row["language"],
                {name: Estimate.from_dict(plain) for name, plain in row["scores"].items()},
                math.nan if row["curvature_p"] is None else float(row["curvature_p"]),
            )
            for row in document["measurements"]
        ]
        return _archive(
            found, document.get("asked", []), document.get("outcomes"), document.get("notes")
        )
    except (OSError, ValueError, KeyError, TypeError, pl.exceptions.PolarsError) as error:
        raise ReaderError(f"{where}: damaged scores: {error}") from error


def _from_parquet(where: Path) -> Archive:
    frame = pl.read_parquet(where)
    found = []
    for (model, benchmark, language), part in frame.group_by(_KEYS, maintain_order=True):
        scores = {
            name: Estimate.from_dict(json.loads(text))
            for name, text in part.select("score", "estimate").iter_rows()
        }
        p = part["curvature_p"][0]
        curvature_p = math.nan if p is None else float(p)
        found.append(Measurement(str(model), str(benchmark), str(language), scores, curvature_p))
    metadata = pl.read_parquet_metadata(where)
    plain = frame["outcomes"][0] if "outcomes" in frame.columns else None
    return _archive(
        found,
        json.loads(metadata.get("asked", "[]")),
        None if plain is None else json.loads(plain),
        json.loads(metadata.get("notes", "null")),
    )


def _archive(
    found: list[Measurement],
    asked: list[dict[str, Any]],
    columns: Mapping[str, list[Any]] | None,
    notes: Sequence[str] | None,
) -> Archive:
    """Put together what a file holds, the counts checked anew."""
    if columns is None:
        return Archive(found, asked, None)
    fresh = Outcomes.from_frame(pl.DataFrame(columns))
    said = tuple(dict.fromkeys([*(notes or ()), *fresh.notes]))
    return Archive(
        found, asked, Outcomes(fresh.frame, fresh.excluded, said), told=notes is not None
    )


def _columns(outcomes: Outcomes) -> dict[str, list[Any]]:
    """Return the counts as columns, without those that are as they are by default."""
    frame = pl.concat([outcomes.frame, outcomes.excluded])
    told = [
        name
        for name, usual in _USUAL.items()
        if not frame.select((pl.col(name) == usual).all())[0, 0]
    ]
    return frame.select(*_COUNTS, *told).to_dict(as_series=False)
