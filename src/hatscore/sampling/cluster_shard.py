"""What one worker has sampled, as a file of its own, and the way of such files into a run."""

from __future__ import annotations

import contextlib
import hashlib
import importlib
import json
import tempfile
from dataclasses import dataclass
from itertools import groupby
from pathlib import Path
from typing import TYPE_CHECKING, Any

from hatscore.errors import InputError, RunError
from hatscore.sampling.client import Completion
from hatscore.sampling.store import Store

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence

    from hatscore.sampling.config import RunConfig
    from hatscore.sampling.store import StoredItem, StoredResponse
    from hatscore.sampling.task import Cell, Task

__all__ = [
    "ASIDE_NAME",
    "Aside",
    "Merged",
    "Shard",
    "Shelf",
    "fetch_run",
    "merge",
    "models_in",
    "publish_run",
    "run_key",
]

ASIDE_NAME = "set-aside"
_RECORDED = ("base_url", "version", "created_at")
# The replies last: then it is whole.
_PUBLISHED = (
    "run.json",
    "provider.json",
    "servers.json",
    "plan.json",
    "verdicts.sqlite",
    "responses.sqlite",
)


class Shard:
    """A sink that knows what the run holds already and writes to a file of its own.

    Parameters
    ----------
    path
        The new file.
    held
        Repeats that need not be asked for, by cell.
    models
        Model names that the run holds.
    failed
        Cells that hold an error in the run.
    """

    def __init__(
        self,
        path: Path,
        held: Mapping[Cell, Collection[int]],
        models: Iterable[str] = (),
        failed: Collection[Cell] = (),
    ) -> None:
        self.path = path
        self._held = held
        self._failed = failed
        self._models = frozenset(models)
        self._store = Store(path)

    def put_items(self, tasks: Iterable[Task], /) -> None:
        """Take note of what will be asked."""
        self._store.put_items(tasks)

    def good_repeats(self) -> Mapping[Cell, Collection[int]]:
        """Return which repeats of each cell the run or this shard holds."""
        own = self._store.good_repeats()
        cells = {*self._held, *own}
        return {cell: {*self._held.get(cell, ()), *own.get(cell, ())} for cell in cells}

    def failed_cells(self) -> Collection[Cell]:
        """Return the cells that held an error when the slice was given out."""
        return self._failed

    def put_all(
        self,
        cell: Cell,
        repeats: Sequence[int],
        completions: Sequence[Completion],
        /,
        *,
        seed: int | None,
    ) -> None:
        """Keep the replies of one request, or the errors in their place."""
        self._store.put_all(cell, repeats, completions, seed=seed)

    def flush(self) -> None:
        """Commit everything."""
        self._store.flush()

    def models(self) -> tuple[str, ...]:
        """Return the model names that the server gave for the run or this shard, sorted."""
        return tuple(sorted(self._models.union(self._store.models())))

    def close(self) -> bytes:
        """Close the file and return its content."""
        self._store.close()
        return self.path.read_bytes()


@dataclass(frozen=True, slots=True)
class Merged:
    """What a shard has brought into a run.

    Parameters
    ----------
    new, errors
        Good replies and errors.
    input_tokens, output_tokens, reasoning_tokens
        Sums over the good replies for which the server told them; None when for none.
    last_error
        The last error, None when there was none.
    """

    new: int = 0
    errors: int = 0
    input_tokens: int | None = None
    output_tokens: int | None = None
    reasoning_tokens: int | None = None
    last_error: str | None = None

    def __add__(self, other: Merged) -> Merged:
        """Return both together."""
        return Merged(
            self.new + other.new,
            self.errors + other.errors,
            _sum((self.input_tokens, other.input_tokens)),
            _sum((self.output_tokens, other.output_tokens)),
            _sum((self.reasoning_tokens, other.reasoning_tokens)),
            other.last_error or self.last_error,
        )


def merge(store: Store, content: bytes) -> Merged:
    """Bring the replies of a shard into `store`, by their keys, and commit.

    A key that holds a good reply keeps it, so the same shard may come twice.

    Parameters
    ----------
    store
        Open for writing; it holds the items.
    content
        As of :meth:`Shard.close`.

    Raises
    ------
    RunError
        The content is no shard, or the store cannot be written.
    """
    held = store.good_repeats()
    merged = Merged()
    with _opened(content) as shard:
        new = (
            (item, reply)
            for item, reply in shard.rows()
            if reply.repeat not in held.get(item.cell, ())
        )
        for item, replies in _requests(new):
            completions = [_completion(reply) for reply in replies]
            repeats = [reply.repeat for reply in replies]
            store.put_all(item.cell, repeats, completions, seed=replies[0].seed)
            for completion in completions:
                merged += _counted(completion)
    store.flush()
    return merged


def models_in(content: bytes) -> tuple[str, ...]:
    """Return the model names that the server gave with the replies of a shard, sorted."""
    with _opened(content) as shard:
        return shard.models()


@contextlib.contextmanager
def _opened(content: bytes) -> Iterator[Store]:
    with tempfile.TemporaryDirectory(prefix="hatscore-") as directory:
        path = Path(directory) / "shard.sqlite"
        path.write_bytes(content)
        with Store(path, read_only=True) as shard:
            yield shard


class Aside:
    """Shards whose replies would mix models: paid for, so kept, in a folder of the run.

    Parameters
    ----------
    directory
        The run directory.
    """

    def __init__(self, directory: Path) -> None:
        self.folder = directory / ASIDE_NAME

    def put(self, content: bytes) -> Path:
        """Keep a shard, once however often it comes, and return its path."""
        path = self.folder / f"{hashlib.sha256(content).hexdigest()[:16]}.sqlite"
        part = path.with_suffix(".part")
        try:
            self.folder.mkdir(exist_ok=True)
            part.write_bytes(content)
            part.replace(path)
        except OSError as error:
            raise RunError(f"{path}: cannot be written: {error.strerror}") from error
        return path

    def paths(self) -> list[Path]:
        """Return the paths of what is kept, sorted."""
        return sorted(self.folder.glob("*.sqlite"))

    def remove(self, path: Path) -> None:
        """Let go of a shard that the run holds now, and of the folder with the last one."""
        path.unlink(missing_ok=True)
        with contextlib.suppress(OSError):
            self.folder.rmdir()


def _requests(
    rows: Iterable[tuple[StoredItem, StoredResponse]],
) -> Iterator[tuple[StoredItem, list[StoredResponse]]]:
    """Yield neighbours that one request has brought: they share its latency, to the bit."""

    def request(row: tuple[StoredItem, StoredResponse]) -> tuple[object, ...]:
        item, reply = row
        alone = reply.repeat if reply.latency_s is None else -1
        return item.cell, alone, reply.latency_s, reply.seed, reply.model, reply.input_tokens

    for _, group in groupby(rows, key=request):
        items, replies = zip(*group, strict=True)
        yield items[0], list(replies)


def _completion(reply: StoredResponse) -> Completion:
    return Completion(
        text=reply.text,
        finish_reason=reply.finish_reason,
        reasoning=reply.reasoning,
        input_tokens=reply.input_tokens,
        output_tokens=reply.output_tokens,
        reasoning_tokens=reply.reasoning_tokens,
        model=reply.model,
        latency_s=reply.latency_s,
        error=reply.error,
    )


def _counted(completion: Completion) -> Merged:
    if completion.error is not None:
        return Merged(errors=1, last_error=completion.error)
    return Merged(
        1,
        0,
        completion.input_tokens,
        completion.output_tokens,
        completion.reasoning_tokens,
    )


def _sum(values: Iterable[int | None]) -> int | None:
    known = [value for value in values if value is not None]
    return sum(known) if known else None


def run_key(config: RunConfig) -> str:
    """Return a short name that only runs of the same configuration share."""
    data = json.loads(config.to_json())
    for name in _RECORDED:
        del data[name]
    text = json.dumps(data, sort_keys=True, ensure_ascii=False)
    return hashlib.sha256(text.encode("utf-8", "replace")).hexdigest()[:16]


class Shelf:
    """Files under an fsspec URL that all machines reach, so that they outlive their makers.

    Parameters
    ----------
    url
        ``s3://BUCKET/PATH``, ``gs://...``, ``file:///PATH``, or any other that fsspec knows.

    Raises
    ------
    InputError
        fsspec does not know the protocol, or its package is not installed.
    RunError
        From the methods: the place cannot be read or written.
    """

    def __init__(self, url: str) -> None:
        # Only where a URL is given; loaded by name because it has no types.
        fsspec: Any = importlib.import_module("fsspec")

        self.url = url.rstrip("/")
        try:
            self._files, self._root = fsspec.core.url_to_fs(self.url)
        except (ValueError, ImportError) as error:
            raise InputError(f"address of results {url!r}: {error}") from error

    def put(self, name: str, content: bytes) -> None:
        """Write a file; what stood under its name is replaced."""
        try:
            path = f"{self._root}/{name}"
            self._files.makedirs(path.rpartition("/")[0], exist_ok=True)
            self._files.pipe_file(path, content)
        except OSError as error:
            raise RunError(f"{self.url}/{name}: cannot be written: {error}") from error

    def get(self, name: str) -> bytes | None:
        """Return the content of a file, None when there is none."""
        try:
            return bytes(self._files.cat_file(f"{self._root}/{name}"))
        except FileNotFoundError:
            return None
        except OSError as error:
            raise RunError(f"{self.url}/{name}: cannot be read: {error}") from error

    def names(self, prefix: str) -> list[str]:
        """Return the names of the files in the folder `prefix`, sorted."""
        try:
            self._files.invalidate_cache()
            found = self._files.ls(f"{self._root}/{prefix}", detail=False)
        except FileNotFoundError:
            return []
        except OSError as error:
            raise RunError(f"{self.url}/{prefix}: cannot be listed: {error}") from error
        return sorted(f"{prefix}/{str(path).rpartition('/')[2]}" for path in found)

    def remove(self, name: str) -> None:
        """Remove a file; one that is not there is no error."""
        try:
            self._files.rm_file(f"{self._root}/{name}")
        except FileNotFoundError:
            return
        except OSError as error:
            raise RunError(f"{self.url}/{name}: cannot be removed: {error}") from error


def publish_run(directory: Path, url: str, name: str | None = None) -> str:
    """Copy a run that nobody writes to any more to ``URL/NAME``; return that address.

    Parameters
    ----------
    directory
        The run directory.
    url
        An fsspec URL.
    name
        Folder under `url`; None takes the name of `directory`.

    Raises
    ------
    InputError, RunError
        As of :class:`Shelf`.
    """
    name = name or directory.name
    shelf = Shelf(url)
    for file in _PUBLISHED:
        path = directory / file
        if path.exists():
            shelf.put(f"{name}/{file}", path.read_bytes())
    return f"{shelf.url}/{name}"


def fetch_run(url: str, directory: Path, name: str | None = None) -> bool:
    """Copy the run at ``URL/NAME`` to `directory`, unless there is one; tell whether it was.

    So another machine goes on where one has stopped.

    Raises
    ------
    InputError, RunError
        As of :class:`Shelf`.
    """
    name = name or directory.name
    if (directory / _PUBLISHED[0]).exists():
        return False
    shelf = Shelf(url)
    if shelf.get(f"{name}/{_PUBLISHED[-1]}") is None:
        return False
    directory.mkdir(parents=True, exist_ok=True)
    for file in reversed(_PUBLISHED):  # run.json last: then the directory is a run
        content = shelf.get(f"{name}/{file}")
        if content is not None:
            (directory / file).write_bytes(content)
    return True
