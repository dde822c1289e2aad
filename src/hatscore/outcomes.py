"""The canonical table: one row per (model, benchmark, item, language)."""

from __future__ import annotations

import json
from dataclasses import dataclass
from html import escape
from importlib import import_module
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
import polars as pl

from hatscore.errors import AlignmentError, InputError, ReaderError, UnknownNameError

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Sequence
    from pathlib import Path

    from numpy.typing import NDArray

__all__ = ["KEY", "SCHEMA", "STATUS_COLUMNS", "Aligned", "Outcomes", "to_pandas"]

KEY = ("model", "benchmark", "item", "language")
STATUS_COLUMNS = ("empty", "truncated", "refused", "unparsed", "error", "judge_unparsed")
TOKEN_COLUMNS = ("input_tokens", "output_tokens", "reasoning_tokens")

SCHEMA: dict[str, pl.DataType] = {
    **dict.fromkeys((*KEY, "source_language"), pl.String()),
    "n": pl.Int64(),
    "k": pl.Float64(),
    "group": pl.String(),
    "chance": pl.Float64(),
    "weight": pl.Float64(),
    **dict.fromkeys(STATUS_COLUMNS, pl.Int64()),
    **dict.fromkeys(TOKEN_COLUMNS, pl.Float64()),
}
_REQUIRED = (*KEY, "source_language", "n", "k")
_SHOWN = 5
_SHOWN_HTML = 30
_NOTES = "hatscore_notes"


@dataclass(frozen=True, slots=True)
class Aligned:
    """One model on one benchmark, as arrays.

    Attributes
    ----------
    model, benchmark
        Whose outcomes these are.
    items, groups
        Item ids and their clusters, shape (items,).
    chance
        Guess rate per item, shape (items,).
    source_languages
        Source language per item, shape (items,).
    k_source, n_source
        Correct replies and replies of the source rows, shape (items,).
    languages
        Target languages, sorted; the columns of the next two.
    k_target, n_target
        Shape (items, languages); n is 0 where an item has no row in a language.
    weights
        Cells that a cell stands for, shape (items, languages): 1, or as a sampling plan gives
        them; 0 where it left the cell out on purpose (see `stats.weighting`).
    """

    model: str
    benchmark: str
    items: NDArray[np.object_]
    groups: NDArray[np.object_]
    chance: NDArray[np.float64]
    source_languages: NDArray[np.object_]
    k_source: NDArray[np.float64]
    n_source: NDArray[np.float64]
    languages: tuple[str, ...]
    k_target: NDArray[np.float64]
    n_target: NDArray[np.float64]
    weights: NDArray[np.float64]


class Outcomes:
    """How many of the replies to each item in each language were right.

    Make one with `from_frame`, `read_parquet` or a reader. Rows are checked once, here: whoever
    holds an Outcomes may rely on it.

    Attributes
    ----------
    frame
        The table, columns `SCHEMA`, one row per (model, benchmark, item, language).
    excluded
        Rows of items whose source row is missing, same columns; they take no part in any score.
    notes
        What was excluded and how item sets differ between languages, in words.
    """

    __slots__ = ("excluded", "frame", "notes")

    def __init__(self, frame: pl.DataFrame, excluded: pl.DataFrame, notes: tuple[str, ...]) -> None:
        self.frame = frame
        self.excluded = excluded
        self.notes = notes

    def __repr__(self) -> str:
        """Say what is inside in one line."""
        f = self.frame
        return (
            f"Outcomes({f.height} rows: {f['model'].n_unique()} models, "
            f"{f['benchmark'].n_unique()} benchmarks, {f['language'].n_unique()} languages)"
        )

    def _repr_html_(self) -> str:
        """Show a notebook what is inside: a row per model and benchmark, then the notes."""
        parts = self.frame.group_by(["model", "benchmark"], maintain_order=True).agg(
            pl.col("item").n_unique().alias("items"),
            pl.col("source_language").unique().sort().str.join(", ").alias("source"),
            pl.col("language")
            .filter(pl.col("language") != pl.col("source_language"))
            .unique()
            .sort()
            .str.join(", ")
            .alias("targets"),
            pl.col("n").sum().alias("replies"),
        )
        head = "".join(f"<th>{name}</th>" for name in parts.columns)
        body = "".join(
            f"<tr>{''.join(f'<td>{escape(str(cell))}</td>' for cell in row)}</tr>"
            for row in parts.head(_SHOWN_HTML).iter_rows()
        )
        said = [*self.notes[:_SHOWN]]
        if parts.height > _SHOWN_HTML:
            said.insert(0, f"{parts.height - _SHOWN_HTML} more rows are not shown")
        if len(self.notes) > _SHOWN:
            said.append(f"{len(self.notes) - _SHOWN} more notes, see .notes")
        notes = "".join(f"<li>{escape(note)}</li>" for note in said)
        return (
            f"<table><caption>{escape(repr(self))}</caption><thead><tr>{head}</tr></thead>"
            f"<tbody>{body}</tbody></table>{f'<ul>{notes}</ul>' if notes else ''}"
        )

    @classmethod
    def from_frame(
        cls,
        df: Any,
        *,
        duplicates: Literal["refuse", "sum"] = "refuse",
        notes: Sequence[str] = (),
    ) -> Outcomes:
        """Check a frame and return it as Outcomes.

        Parameters
        ----------
        df
            Polars frame (a pandas frame is converted) with at least the columns model,
            benchmark, item, language, source_language, n, k. The other columns of `SCHEMA`
            default to: group the item, chance and statuses 0, weight 1, tokens null. A sampling
            plan that leaves cells out on purpose lists them with weight 0 and n 0, and gives the
            cells that stand for them a weight above 1. A column ``gold``, if
            present, must agree across the languages of every item and is then dropped.
        duplicates
            What to do with several rows of one key: ``refuse``, or ``sum`` them as extra repeats.
        notes
            What the reader wants said beside every score.

        Raises
        ------
        InputError
            Missing or unknown columns, values of the wrong kind, k outside 0..n, repeated keys,
            two source languages for one item. The message names rows, counted from 0.
        AlignmentError
            Golds that differ between languages of one item.

        Examples
        --------
        >>> import polars as pl
        >>> rows = [("m", "b", 1, "en", "en", 10, 9), ("m", "b", 1, "de", "en", 10, 6)]
        >>> names = ["model", "benchmark", "item", "language", "source_language", "n", "k"]
        >>> Outcomes.from_frame(pl.DataFrame(rows, schema=names, orient="row"))
        Outcomes(2 rows: 1 models, 1 benchmarks, 2 languages)
        """
        if not isinstance(df, pl.DataFrame):
            try:
                df = pl.from_pandas(df)
            except Exception as err:
                raise InputError(
                    f"from_frame needs a polars or pandas frame, got {type(df).__name__}"
                ) from err
        gold = df["gold"] if "gold" in df.columns else None
        frame = _typed(df.drop("gold", strict=False))
        _check_values(frame)
        if gold is not None:
            _check_golds(frame, gold)
        if duplicates not in ("refuse", "sum"):
            raise InputError(f"duplicates must be refuse or sum, got {duplicates!r}")
        repeated = frame.select(KEY).is_duplicated()
        if repeated.any():
            if duplicates == "refuse":
                raise InputError(
                    f"{int(repeated.sum())} rows share a (model, benchmark, item, language): "
                    f"{_rows(frame, repeated, KEY)}. "
                    'Pass duplicates="sum" if they are further repeats of the same items.'
                )
            frame = _sum_repeats(frame)
        _check_sources(frame)
        kept, lost = _split_by_source(frame)
        return cls(kept, lost, (*notes, *_compare_item_sets(kept, lost)))

    @classmethod
    def read_parquet(cls, path: str | Path, *, without: Collection[str] = ()) -> Outcomes:
        """Read what `write_parquet` wrote, `without` some columns; the frame is checked again.

        Raises
        ------
        ReaderError
            The file is missing or no Parquet.
        """
        try:
            names = [name for name in pl.read_parquet_schema(path) if name not in without]
            df = pl.read_parquet(path, columns=names)
            notes = json.loads(pl.read_parquet_metadata(path).get(_NOTES, "[]"))
        except (OSError, ValueError, pl.exceptions.PolarsError) as err:
            raise ReaderError(f"{path}: no readable Parquet file: {err}") from err
        fresh = cls.from_frame(df)
        return cls(fresh.frame, fresh.excluded, tuple(dict.fromkeys([*notes, *fresh.notes])))

    def write_parquet(self, path: str | Path) -> None:
        """Write all rows, the excluded ones too, and the notes: reading gives an equal object."""
        rows = pl.concat([self.frame, self.excluded])
        rows.write_parquet(path, metadata={_NOTES: json.dumps(self.notes)})

    def to_pandas(self) -> Any:
        """Return `frame` as a pandas frame; see `to_pandas`."""
        return to_pandas(self.frame)

    def aligned(self) -> Iterator[Aligned]:
        """Yield every (model, benchmark) as arrays, in order of first appearance."""
        for (model, benchmark), part in self.frame.group_by(
            ["model", "benchmark"], maintain_order=True
        ):
            yield _align(str(model), str(benchmark), part)


def to_pandas(frame: pl.DataFrame) -> Any:
    """Return a Polars frame, such as that of `measure`, as a pandas frame.

    Needs pandas and, unlike ``frame.to_pandas()``, nothing else. Numbers keep their type, but
    that missing ones become NaN.

    Raises
    ------
    InputError
        pandas is not installed.

    Examples
    --------
    >>> to_pandas(pl.DataFrame({"language": ["de"], "hat": [0.5]})).loc[0, "hat"].item()
    0.5
    """
    try:
        pandas = import_module("pandas")
    except ImportError as error:
        raise InputError(
            "a pandas frame needs pandas, which hatscore does not bring: pip install pandas; or "
            "go on with the Polars frame"
        ) from error
    columns = {
        name: frame[name].to_numpy() if frame[name].dtype.is_numeric() else frame[name].to_list()
        for name in frame.columns
    }
    return pandas.DataFrame(columns)


def _typed(df: pl.DataFrame) -> pl.DataFrame:
    """Give every column its type and add the missing optional ones."""
    unknown = [c for c in df.columns if c not in SCHEMA]
    if unknown:
        raise UnknownNameError("column", unknown[0], SCHEMA)
    missing = [c for c in _REQUIRED if c not in df.columns]
    if missing:
        raise InputError(
            f"the table lacks {', '.join(missing)}; it has {', '.join(df.columns) or 'no columns'}"
        )
    columns = []
    for name, dtype in SCHEMA.items():
        if name in df.columns:
            columns.append(_cast(df[name], name, dtype))
        elif name == "group":
            columns.append(_cast(df["item"], "item", dtype).alias("group"))
        else:
            fill = None if name in TOKEN_COLUMNS else 1 if name == "weight" else 0
            columns.append(pl.Series(name, [fill] * df.height, dtype=dtype))
    frame = pl.DataFrame(columns)
    return frame.with_columns(
        pl.col("group").fill_null(pl.col("item")),
        pl.col("weight").fill_null(1.0),
        *(pl.col(c).fill_null(0) for c in ("chance", *STATUS_COLUMNS)),
    )


def _cast(series: pl.Series, name: str, dtype: pl.DataType) -> pl.Series:
    if dtype == pl.String() and series.dtype.is_float():
        whole = series.is_null() | (series == series.floor())
        if whole.all():
            series = series.cast(pl.Int64, strict=False)
    if dtype == pl.Int64() and series.dtype.is_float():
        broken = ~(series.is_null() | (series == series.floor()))
        if broken.any():
            row = int(broken.arg_true()[0])
            raise InputError(f"column {name}, row {row}: {series[row]!r} is no whole number")
    cast = series.cast(dtype, strict=False).alias(name)
    lost = cast.is_null() & series.is_not_null()
    if lost.any():
        row = int(lost.arg_true()[0])
        raise InputError(f"column {name}, row {row}: {series[row]!r} is not of type {dtype}")
    return cast


def _check_values(frame: pl.DataFrame) -> None:
    for name in _REQUIRED:
        empty = frame[name].is_null()
        if frame[name].dtype == pl.String:
            empty |= frame[name] == ""
        if empty.any():
            raise InputError(f"column {name} is empty in rows {_numbers(empty)}")
    k, n = frame["k"], frame["n"]
    for bad, what in (
        (n < 0, "a negative n"),
        (k.is_nan() | (k < 0) | (k > n), "k outside 0..n"),
        (~frame["chance"].is_between(0, 1, closed="left"), "a chance outside [0, 1)"),
        (~(frame["weight"].is_finite() & (frame["weight"] >= 0)), "a weight below 0 or not finite"),
        ((frame["weight"] == 0) & (n > 0), "weight 0 (left out by the plan) but n above 0"),
        (
            (frame["weight"] != 1) & (frame["language"] == frame["source_language"]),
            "a weight though they are source rows",
        ),
    ):
        if bad.any():
            shown = _rows(frame, bad, (*KEY, "n", "k", "chance", "weight"))
            raise InputError(f"{int(bad.sum())} rows have {what}: {shown}")
    for name in STATUS_COLUMNS:
        bad = frame[name] < 0
        if bad.any():
            raise InputError(
                f"column {name} counts replies and cannot be negative: "
                f"{_rows(frame, bad, (*KEY, name))}"
            )


def _check_golds(frame: pl.DataFrame, gold: pl.Series) -> None:
    keys = ["benchmark", "item"]
    known = frame.with_columns(gold.cast(pl.String).alias("gold")).filter(
        pl.col("gold").is_not_null()
    )
    torn = (
        known.group_by(keys, maintain_order=True)
        .agg(pl.col("gold").n_unique().alias("different"), "language", "gold")
        .filter(pl.col("different") > 1)
    )
    if torn.height:
        first = torn.row(0, named=True)
        pairs = dict(zip(first["language"], first["gold"], strict=True))
        shown = ", ".join(f"{lang}: {g}" for lang, g in list(pairs.items())[:_SHOWN])
        raise AlignmentError(
            f"{torn.height} items have golds that differ between languages, first "
            f"{first['benchmark']} item {first['item']} ({shown}): "
            "the languages do not list the same items"
        )


def _check_sources(frame: pl.DataFrame) -> None:
    torn = (
        frame.group_by(["model", "benchmark", "item"], maintain_order=True)
        .agg(pl.col("source_language").unique().sort())
        .filter(pl.col("source_language").list.len() > 1)
    )
    if torn.height:
        first = torn.row(0, named=True)
        raise InputError(
            f"{torn.height} items have two source languages, first {first['benchmark']} item "
            f"{first['item']} of {first['model']}: {', '.join(first['source_language'])}"
        )


def _sum_repeats(frame: pl.DataFrame) -> pl.DataFrame:
    summed = ("n", "k", *STATUS_COLUMNS)
    torn = frame.filter(pl.col("weight").n_unique().over(KEY) > 1)
    if torn.height:
        first = ", ".join(map(str, torn.select(KEY).row(0)))
        raise InputError(
            f"{torn.height} rows of one key have different weights, first {first}: repeats of two "
            "sampling plans cannot be added up; score the runs one by one"
        )
    weighted = [
        ((pl.col(c) * pl.col("n")).sum() / pl.when(pl.col(c).is_not_null()).then("n").sum()).alias(
            c
        )
        for c in TOKEN_COLUMNS
    ]
    return (
        frame.group_by(KEY, maintain_order=True)
        .agg(
            *(pl.col(c).first() for c in ("source_language", "group", "chance", "weight")),
            *(pl.col(c).sum() for c in summed),
            *weighted,
        )
        .with_columns(pl.col(c).fill_nan(None) for c in TOKEN_COLUMNS)
        .select(list(SCHEMA))
    )


def _split_by_source(frame: pl.DataFrame) -> tuple[pl.DataFrame, pl.DataFrame]:
    """Separate rows whose item has a source row from those whose item has none."""
    is_source = (pl.col("language") == pl.col("source_language")) & (pl.col("n") > 0)
    has = is_source.any().over(["model", "benchmark", "item"])
    marked = frame.with_columns(has.alias("_has"))
    return (
        marked.filter("_has").drop("_has"),
        marked.filter(~pl.col("_has")).drop("_has"),
    )


def _compare_item_sets(kept: pl.DataFrame, lost: pl.DataFrame) -> Iterator[str]:
    for (model, benchmark), part in lost.group_by(["model", "benchmark"], maintain_order=True):
        items = part["item"].unique(maintain_order=True)
        yield (
            f"{model} on {benchmark}: {len(items)} items have no replies in their source "
            f"language and are left out ({_names(items.to_list())})"
        )
    # what a plan left out on purpose is not missing
    asked = (pl.col("n") > 0) | (pl.col("weight") == 0)
    targets = kept.filter((pl.col("language") != pl.col("source_language")) & asked).group_by(
        ["model", "benchmark", "source_language"], maintain_order=True
    )
    for (model, benchmark, _source), part in targets:
        counts = part.group_by("language", maintain_order=True).agg(pl.col("item").n_unique())
        everything = part["item"].n_unique()
        for language, count in counts.filter(pl.col("item") < everything).iter_rows():
            have = part.filter(pl.col("language") == language)["item"]
            without = part.filter(~pl.col("item").is_in(have.implode()))["item"].unique(
                maintain_order=True
            )
            yield (
                f"{model} on {benchmark}: {language} lacks {everything - count} of {everything} "
                f"items that other languages have ({_names(without.to_list())})"
            )


def _align(model: str, benchmark: str, part: pl.DataFrame) -> Aligned:
    sources = part.filter(pl.col("language") == pl.col("source_language"))
    targets = part.filter(pl.col("language") != pl.col("source_language"))
    items = sources["item"].to_numpy()
    languages = tuple(targets["language"].unique().sort().to_list())
    row = {item: i for i, item in enumerate(items)}
    column = {language: j for j, language in enumerate(languages)}
    shape = (len(items), len(languages))
    k_target, n_target, weights = np.zeros(shape), np.zeros(shape), np.ones(shape)
    i = np.array([row[item] for item in targets["item"]], dtype=np.intp)
    j = np.array([column[language] for language in targets["language"]], dtype=np.intp)
    k_target[i, j] = targets["k"].to_numpy()
    n_target[i, j] = targets["n"].to_numpy()
    weights[i, j] = targets["weight"].to_numpy()
    return Aligned(
        model=model,
        benchmark=benchmark,
        items=items,
        groups=sources["group"].to_numpy(),
        chance=sources["chance"].to_numpy(),
        source_languages=sources["source_language"].to_numpy(),
        k_source=sources["k"].to_numpy(),
        n_source=sources["n"].cast(pl.Float64).to_numpy(),
        languages=languages,
        k_target=k_target,
        n_target=n_target,
        weights=weights,
    )


def _numbers(mask: pl.Series) -> str:
    return _names([str(i) for i in mask.arg_true().to_list()])


def _names(names: list[str]) -> str:
    shown = ", ".join(names[:_SHOWN])
    return shown if len(names) <= _SHOWN else f"{shown} and {len(names) - _SHOWN} more"


def _rows(frame: pl.DataFrame, mask: pl.Series, columns: tuple[str, ...]) -> str:
    part = frame.select(columns).with_row_index("row").filter(mask).head(_SHOWN)
    return "; ".join(
        ", ".join(f"{name} {value}" for name, value in row.items())
        for row in part.iter_rows(named=True)
    )
