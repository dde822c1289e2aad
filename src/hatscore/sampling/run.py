"""A run directory: ``run.json`` says what it is, ``responses.sqlite`` holds the replies."""

from __future__ import annotations

import os
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Self

from hatscore.errors import InputError, RunError
from hatscore.sampling.config import RunConfig, differences
from hatscore.sampling.growth import grow, settle
from hatscore.sampling.lock import Lock
from hatscore.sampling.observed import OBSERVED_NAME
from hatscore.sampling.servers import SERVERS_NAME
from hatscore.sampling.store import Store

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from types import TracebackType

__all__ = ["CONFIG_NAME", "LOCK_NAME", "STORE_NAME", "Run", "check_resumable"]

CONFIG_NAME = "run.json"
STORE_NAME = "responses.sqlite"
LOCK_NAME = "run.lock"
_PART_NAME = "run.json.part"
# What a start leaves that brought no reply; anything else may have cost something.
_OF_A_FAILED_START = (
    STORE_NAME,
    f"{STORE_NAME}-wal",
    f"{STORE_NAME}-shm",
    SERVERS_NAME,
    f"{SERVERS_NAME}.part",
    OBSERVED_NAME,
    f"{OBSERVED_NAME}.part",
)


class Run:
    """An open run; made by :meth:`create_or_resume` or :meth:`open`, and a context manager.

    Attributes
    ----------
    directory
        Where it lives.
    config
        What it is, as stored: on resuming, `base_url`, `version` and `created_at` are those of
        the first start.
    store
        Its replies.
    resumed
        Whether it existed before.
    grown
        What it has more or less of than before, as :func:`hatscore.sampling.config.differences`
        says it.
    """

    def __init__(
        self,
        directory: Path,
        config: RunConfig,
        store: Store,
        *,
        lock: Lock | None = None,
        resumed: bool = True,
        grown: Sequence[str] = (),
    ) -> None:
        self.directory = directory
        self.config = config
        self.store = store
        self.resumed = resumed
        self.grown = tuple(grown)
        self._lock = lock

    @classmethod
    def create_or_resume(cls, directory: str | Path, config: RunConfig) -> Run:
        """Open `directory` for sampling and lock it until :meth:`close`.

        Parameters
        ----------
        directory
            Created with its parents when missing.
        config
            What is asked for; what the directory holds must be the same run, or one that can
            become it: it may gain languages, items and repeats, and lose those that have brought
            no reply. A run without a reply is begun anew.

        Raises
        ------
        RunError
            Another run lives there (every difference is named), files that are not of a run,
            a damaged run, another process samples into it, or it cannot be written.
        """
        directory = Path(directory)
        try:
            directory.mkdir(parents=True, exist_ok=True)
            names = sorted(entry.name for entry in directory.iterdir())
        except OSError as error:
            raise RunError(
                f"{directory}: cannot be a run directory: {error.strerror}; "
                "choose a directory that can be written"
            ) from error
        foreign = [
            name
            for name in names
            if not name.startswith(".") and name not in (LOCK_NAME, _PART_NAME)
        ]
        # Looked at before the lock file is made: a foreign directory stays as it was.
        if CONFIG_NAME not in names and foreign:
            raise RunError(
                f"{directory}: holds {_some(foreign)} but no {CONFIG_NAME}; "
                "choose an empty or a new directory"
            )
        lock = Lock(directory / LOCK_NAME)
        try:
            return cls._locked(directory, config, lock)
        except BaseException:
            lock.release()
            raise

    @classmethod
    def _locked(cls, directory: Path, config: RunConfig, lock: Lock) -> Run:
        path = directory / CONFIG_NAME
        if not path.exists():
            _write(path, config)
            return cls(directory, config, Store(directory / STORE_NAME), lock=lock, resumed=False)
        stored = _read(path)
        different = differences(stored, config)
        store = Store(directory / STORE_NAME)
        try:
            if not different:
                settle(directory, stored, store)
                return cls(directory, stored, store, lock=lock)
            if _is_empty(directory, store):
                store.close()
                _clear(directory)
                _write(path, config)
                store = Store(directory / STORE_NAME)
                return cls(directory, config, store, lock=lock, resumed=False)
            grown = _grown(directory, stored, config, store, write=partial(_write, path))
        except BaseException:
            store.close()
            raise
        return cls(directory, grown, store, lock=lock, grown=different)

    @classmethod
    def open(cls, directory: str | Path) -> Run:
        """Open `directory` for reading; works while another process samples into it.

        Raises
        ------
        RunError
            It is no run, or a damaged one.
        """
        directory = Path(directory)
        path = directory / CONFIG_NAME
        if not path.is_file():
            what = f"{CONFIG_NAME} missing" if directory.is_dir() else "no such directory"
            raise RunError(
                f"{directory} is no run: {what}; expected a directory written by `hatscore run`"
            )
        return cls(directory, _read(path), Store(directory / STORE_NAME, read_only=True))

    def close(self) -> None:
        """Commit, close the store and let the lock go."""
        try:
            self.store.close()
        finally:
            if self._lock is not None:
                self._lock.release()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.close()


def check_resumable(directory: str | Path, config: RunConfig) -> None:
    """Raise what :meth:`Run.create_or_resume` would raise of another run; changes nothing.

    Parameters
    ----------
    directory
        A run directory.
    config
        What is asked for.

    Raises
    ------
    RunError
        Another run lives there that cannot grow to this, or a damaged one.
    """
    directory = Path(directory)
    with Run.open(directory) as run:
        if differences(run.config, config) and not _is_empty(directory, run.store):
            _grown(directory, run.config, config, run.store)


def _grown(
    directory: Path,
    stored: RunConfig,
    asked: RunConfig,
    store: Store,
    *,
    write: Callable[[RunConfig], None] | None = None,
) -> RunConfig:
    """Return what a run is when it has grown; RunError where it cannot."""
    grown = grow(directory, stored, asked, store, write=write)
    if not isinstance(grown, str):
        return grown
    may = "A run may gain languages, items and repeats, and lose those without a reply"
    why = f"\n{may}. This cannot: {grown}." if grown else ""
    raise RunError(
        f"{directory}: holds another run; choose another directory, or ask for the same:\n  "
        + "\n  ".join(differences(stored, asked))
        + why
    )


def _is_empty(directory: Path, store: Store) -> bool:
    """Whether all starts so far have brought no reply, and nothing else lies there."""
    expected = {CONFIG_NAME, _PART_NAME, LOCK_NAME, *_OF_A_FAILED_START}
    names = {entry.name for entry in directory.iterdir() if not entry.name.startswith(".")}
    return names <= expected and store.usage().replies == 0


def _clear(directory: Path) -> None:
    for name in _OF_A_FAILED_START:
        path = directory / name
        try:
            path.unlink(missing_ok=True)
        except OSError as error:
            raise RunError(f"{path}: cannot be removed: {error.strerror}") from error


def _read(path: Path) -> RunConfig:
    try:
        return RunConfig.from_json(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise RunError(f"{path}: cannot be read: {error.strerror}") from error
    except (UnicodeDecodeError, InputError) as error:
        raise RunError(
            f"{path}: damaged: {error}; expected a file written by `hatscore run`"
        ) from error


def _write(path: Path, config: RunConfig) -> None:
    """Write `config` so that after a crash the file is whole or not there."""
    part = path.with_name(_PART_NAME)
    try:
        with part.open("w", encoding="utf-8") as file:
            file.write(config.to_json())
            file.flush()
            os.fsync(file.fileno())
        part.replace(path)
    except OSError as error:
        raise RunError(
            f"{path}: cannot be written: {error.strerror}; "
            "choose a directory that can be written, on a disk with space"
        ) from error


def _some(names: list[str], most: int = 3) -> str:
    shown = ", ".join(names[:most])
    return shown if len(names) <= most else f"{shown} and {len(names) - most} more"
