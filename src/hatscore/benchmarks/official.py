"""Where official benchmark files come from: a directory on disk, or a pinned revision of the hub.

Nothing official is part of this package. A benchmark of :mod:`hatscore.benchmarks.mgsm` or
:mod:`hatscore.benchmarks.mmlu_prox_lite` reads the user's own copy (option ``data``) or fetches
one revision of a data set of the Hugging Face hub into the hub's own cache. Both end in a local
directory, and one reader serves both, so that what is tested on disk is what runs after a
download. A revision that is in the cache is found there without a network; another revision is
never taken in its place.
"""

from __future__ import annotations

import hashlib
import json
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any, Final

from hatscore.errors import InputError, MissingExtraError, ReaderError, UnknownNameError
from hatscore.languages import check_language

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

__all__ = [
    "DATA_OPTION",
    "Hub",
    "OfficialData",
    "check_options",
    "check_request",
    "draw",
    "read_hub_layout",
    "read_jsonl",
    "read_tsv",
]

DATA_OPTION: Final = (
    "directory with the official files; without it they come from the Hugging Face hub "
    "(extra `hub`)"
)
# Seconds until the hub has to answer; a dead network must not look like a slow start.
_TIMEOUT: Final = 10.0


@dataclass(frozen=True, slots=True)
class Hub:
    """One revision of one data set of the Hugging Face hub.

    Parameters
    ----------
    dataset
        ``owner/name``.
    revision
        The full commit, 40 hexadecimal digits: branches move.
    """

    dataset: str
    revision: str


@dataclass(frozen=True, slots=True)
class OfficialData:
    """Where the files of one benchmark are.

    Parameters
    ----------
    benchmark
        Name of the benchmark, for messages.
    hub
        The revision to fetch when no path is given.
    home
        Where the official files are published, in words.
    inside
        Names of subdirectories in which the files lie in a checkout of the official repository.
    """

    benchmark: str
    hub: Hub
    home: str
    inside: tuple[str, ...] = ()

    def directory(self, path: str | None, *, marks: Sequence[str]) -> Path:
        """Return the directory that holds the files.

        Parameters
        ----------
        path
            The user's directory, None for the hub. The files may also lie in a subdirectory of
            it that is named after the benchmark or listed in `inside`.
        marks
            Patterns of file names, any of which shows that the files are here, the surest first:
            a checkout has a ``README.md`` above the files, too.

        Raises
        ------
        InputError
            No such directory, nothing in it that fits, or a hub that cannot be reached.
        MissingExtraError
            No path, and the library that reads the hub is not installed.
        """
        if path is None:
            return self._from_hub()
        root = Path(path).expanduser()
        if not root.is_dir():
            came = "a file" if root.exists() else "missing"
            raise InputError(
                f"the data of {self.benchmark} must be a directory, but {root} is {came}: pass "
                f"the directory with --data PATH; the official files are at {self.home}"
            )
        places = (root, *(root / name for name in (self.benchmark, *self.inside)))
        for mark in marks:
            for place in places:
                if next(place.glob(mark), None):
                    return place
        raise InputError(
            f"{root} holds no file of {self.benchmark}: expected {' or '.join(marks)}, there or "
            f"in a subdirectory {' or '.join((self.benchmark, *self.inside))}. The official "
            f"files are at {self.home}"
        )

    def _from_hub(self) -> Path:
        try:
            return _snapshot(self.hub)
        except ModuleNotFoundError as error:
            raise MissingExtraError(
                "hub",
                f"fetching {self.benchmark} from the Hugging Face hub (--data PATH reads files "
                f"on disk, from {self.home})",
            ) from error
        except (OSError, ValueError) as error:
            raise InputError(
                f"{self.benchmark} could not be fetched: {self.hub.dataset} at revision "
                f"{self.hub.revision[:12]} is not in the cache, and the Hugging Face hub did not "
                f"deliver it ({error}). Try again with a network, or put the "
                f"official files on disk and pass --data PATH (the same as --set data=PATH). "
                f"They are at {self.home}"
            ) from error


@cache
def _snapshot(hub: Hub) -> Path:
    """Return the directory of that revision in the hub's cache, filled if need be.

    A single request asks for the revision first: the download itself would repeat each of its
    requests for half a minute before it admits that there is no network.
    """
    from huggingface_hub import HfApi, snapshot_download  # noqa: PLC0415 - part of an extra

    refused: Exception | None = None
    try:
        HfApi().dataset_info(hub.dataset, revision=hub.revision, timeout=_TIMEOUT)
    except Exception as error:  # noqa: BLE001 - its transport, and so its errors, changed twice
        refused = error
    try:
        return Path(
            snapshot_download(
                hub.dataset,
                repo_type="dataset",
                revision=hub.revision,
                etag_timeout=_TIMEOUT,
                local_files_only=refused is not None,
            )
        )
    except (OSError, ValueError) as error:
        raise OSError(_first_line(refused or error)) from error


def read_hub_layout(directory: Path, config: str, split: str) -> list[dict[str, Any]]:
    """Return the rows of one split of a data set that is laid out as on the hub.

    Parameters
    ----------
    directory
        A snapshot or a clone: a ``README.md`` that lists the configurations, or one
        subdirectory per configuration, with parquet, JSON lines or CSV files.
    config
        Name of the configuration: the language.
    split
        ``test`` or ``validation``.

    Returns
    -------
    list of dict
        Field to value, in the order of the file.

    Raises
    ------
    MissingExtraError
        The library ``datasets`` is not installed.
    ReaderError
        No such configuration or split, or files that cannot be read.
    """
    try:
        import datasets  # noqa: PLC0415 - part of an extra, and slow to import
    except ModuleNotFoundError as error:
        raise MissingExtraError("hub", f"reading {directory} in the layout of the hub") from error
    path = str(directory.resolve())  # a relative one could be taken for a name on the hub
    try:
        try:
            return _rows(datasets, path, name=config, split=split)
        except ValueError as error:
            if "BuilderConfig" not in str(error):
                raise
            # No card lists the configuration: the subdirectory of that name may have it.
            return _rows(datasets, path, data_dir=config, split=split)
    except (OSError, ValueError, datasets.exceptions.DatasetsError) as error:
        raise ReaderError(
            f"{directory}: the split {split!r} of {config!r} cannot be read in the layout of the "
            f"hub ({_first_line(error)}): expected a README.md that lists the configuration, or "
            f"a subdirectory {config}/ with parquet or JSON lines files"
        ) from error


def _rows(datasets: Any, path: str, **part: str) -> list[dict[str, Any]]:
    """Read once and forget: no second copy stays in the user's cache."""
    with _quiet(datasets), TemporaryDirectory() as scratch:
        rows = datasets.load_dataset(path, cache_dir=scratch, keep_in_memory=True, **part)
        return [dict(row) for row in rows.to_list()]


@contextmanager
def _quiet(datasets: Any) -> Iterator[None]:
    """Keep the library's progress bars, one per file, off the screen."""
    shown = not datasets.are_progress_bars_disabled()
    datasets.disable_progress_bars()
    try:
        yield
    finally:
        if shown:
            datasets.enable_progress_bars()


def read_tsv(path: Path) -> list[tuple[str, ...]]:
    """Return the lines of a file of tab-separated columns without header and quoting.

    Raises
    ------
    ReaderError
        The file is missing or not UTF-8.
    """
    return [tuple(line.split("\t")) for line in _lines(path)]


def read_jsonl(path: Path) -> list[dict[str, Any]]:
    """Return the objects of a file of JSON lines.

    Raises
    ------
    ReaderError
        The file is missing, not UTF-8, or a line is not a JSON object; the line is named.
    """
    rows = []
    for number, line in enumerate(_lines(path), 1):
        try:
            row = json.loads(line)
        except json.JSONDecodeError as error:
            raise ReaderError(f"{path}: line {number} is not JSON: {error.msg}") from error
        if not isinstance(row, dict):
            raise ReaderError(
                f"{path}: line {number} is a {type(row).__name__}, expected an object {{...}}"
            )
        rows.append(row)
    return rows


def _lines(path: Path) -> list[str]:
    """Lines of a file; only a line feed ends one, a form feed in a formula does not."""
    try:
        text = path.read_bytes().decode("utf-8-sig")
    except FileNotFoundError as error:
        near = sorted(other.name for other in path.parent.glob(f"*{path.suffix}"))
        raise ReaderError(
            f"{path} is missing; its directory has {', '.join(near) or 'no such file'}"
        ) from error
    except UnicodeDecodeError as error:
        raise ReaderError(
            f"{path}: byte {error.start} is not UTF-8: get the official file again, unconverted"
        ) from error
    lines = [line.removesuffix("\r") for line in text.split("\n")]
    return lines[:-1] if lines[-1] == "" else lines


def check_options(benchmark: str, given: Mapping[str, str], known: Mapping[str, str]) -> None:
    """Raise UnknownNameError for an option that the benchmark does not have."""
    for name in given:
        if name not in known:
            raise UnknownNameError(f"option of {benchmark}", name, known)


def check_request(
    benchmark: str, languages: Sequence[str], source_language: str, known: Sequence[str]
) -> None:
    """Raise InputError unless each language is known and named once, the source among them."""
    for tag in (*languages, source_language):
        check_language(tag, known)
    if source_language not in languages or len(set(languages)) != len(languages):
        raise InputError(
            f"languages of {benchmark} must name each language once and {source_language!r}, the "
            f"source, among them; got {', '.join(languages) or 'none'}"
        )


def draw(benchmark: str, ids: Sequence[str], count: int | None, seed: int) -> list[str]:
    """Return `count` of `ids` in an order that only the seed decides; fewer begin more.

    Parameters
    ----------
    benchmark
        For the message.
    ids
        Every id.
    count
        None for all.
    seed
        Any integer.

    Raises
    ------
    InputError
        Fewer than one or more than there are.
    """
    if count is not None and not 0 < count <= len(ids):
        raise InputError(
            f"{benchmark} has {len(ids)} items; {count} were asked for: choose 1 to {len(ids)}"
        )
    ranked = sorted(ids, key=lambda name: hashlib.sha256(f"{seed}:{name}".encode()).digest())
    return ranked[:count]


def _first_line(error: BaseException) -> str:
    lines = str(error).strip().splitlines()
    return f"{type(error).__name__}: {lines[0][:200]}" if lines else type(error).__name__
