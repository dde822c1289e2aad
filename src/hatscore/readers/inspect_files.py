"""Logs of inspect_ai on any file system: found by content, headers first, samples as a stream."""

from __future__ import annotations

import re
from contextlib import contextmanager
from dataclasses import dataclass, field
from importlib import import_module
from typing import IO, TYPE_CHECKING, Any

from hatscore.errors import ReaderError
from hatscore.readers.inspect_json import Document, elements, fields, load
from hatscore.readers.inspect_zip import Archive, first_member, reading

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

__all__ = ["Log", "find_logs", "is_log"]

_HEAD = 4096
_JSON_HEAD = re.compile(
    rb'^(?:\xef\xbb\xbf)?\s*\{\s*"version"\s*:\s*\d+\s*,\s*"(?:status|eval)"\s*:'
)
_PACKED_HEAD = re.compile(r"_journal/|samples/|(?:header|summaries|reductions|results)\.json$")
_SUFFIXES = (".eval", ".json")
_HEADER, _START, _SUMMARIES = "header.json", "_journal/start.json", "summaries.json"
_JOURNAL = re.compile(r"_journal/summaries/(\d+)\.json")
_SAMPLE = re.compile(r"samples/.+_epoch_\d+(?:/sample)?\.json")
_SUMMARY_LIMIT = 1 << 26  # characters; a summary holds texts cut to 1024
_SAMPLE_LIMIT = 1 << 31  # a sample with all its events can be that long


@dataclass(frozen=True, slots=True)
class Log:
    """One log, its header read.

    Attributes
    ----------
    name
        As the user knows the file.
    packed
        ``.eval`` (zip), not ``.json``.
    status
        ``success``, ``started``, ``error`` or ``cancelled``.
    task, model, args
        Task name, model, and the arguments of the task.
    lineage
        What a retried log shares with the one it retries.
    eval_id, created
        Identity of the run and when it began (ISO 8601).
    epochs, planned
        Epochs asked for, and samples of the data set; None if unknown.
    order
        Position in the data set by sample id; empty if unknown.
    config
        Generation options sent to the model.
    invalidated
        Somebody has marked samples as invalid.
    total
        Samples that the log's own results speak of, None where it has none.
    members
        Samples in the archive, superseded ones too; None for ``.json``.
    """

    name: str
    packed: bool
    status: str
    task: str
    model: str
    args: dict[str, Any]
    lineage: tuple[str, str]
    eval_id: str
    created: str
    epochs: int
    planned: int | None
    order: dict[str, int] = field(repr=False)
    config: dict[str, Any] = field(repr=False)
    invalidated: bool
    total: int | None
    members: int | None
    _fs: Any = field(repr=False)
    _path: str = field(repr=False)

    @property
    def complete(self) -> bool:
        """Whether the run came to its end."""
        return self.status == "success"

    def samples(self) -> Iterator[dict[str, Any]]:
        """Yield summaries of samples, from ``.json`` the samples, with keys as inspect writes them.

        A sample that a later one supersedes is yielded too, before it.

        Raises
        ------
        ReaderError
            The file, or a member of it, is broken.
        """
        with reading(self.name), _opened(self._fs, self._path, self.name) as file:
            found = self._packed(file) if self.packed else _plain_samples(file, self.name)
            for sample in found:
                if not isinstance(sample, dict):
                    raise ReaderError(f"{self.name}: a sample is {_kind(sample)}, not an object")
                yield sample

    def texts(self) -> Iterator[dict[str, Any]]:
        """Yield every sample with its texts but without its events, one at a time.

        Raises
        ------
        ReaderError
            A broken file.
        """
        if not self.packed:
            yield from self.samples()
            return
        with reading(self.name), _opened(self._fs, self._path, self.name) as file:
            archive = Archive(file, self.name)
            for member in archive.names():
                if not _SAMPLE.fullmatch(member):
                    continue
                with archive.open(member) as stream:
                    document = Document(
                        stream, f"{self.name}, member {member}", limit=_SAMPLE_LIMIT
                    )
                    sample: dict[str, Any] = {}
                    for key in fields(document):
                        if key == "events":
                            break  # the bulk of a sample, behind all that is wanted
                        sample[key] = document.value()
                yield sample

    def returned_model(self, sample: dict[str, Any]) -> str | None:
        """Return the model that the server named in a reply; None if it is not known."""
        if not self.packed:
            return _model_of(sample.get("output"))
        stem = f"samples/{sample.get('id')}_epoch_{sample.get('epoch')}"
        wanted = (f"{stem}.json", f"{stem}/sample.json")
        with (
            reading(self.name),
            _opened(self._fs, self._path, self.name) as file,
            Archive(
                file, self.name, lambda name: name.decode("utf-8", "replace") in wanted
            ) as archive,
        ):
            for member in archive.names():
                where = f"{self.name}, member {member}"
                with archive.open(member) as stream:
                    # events, the bulk of a sample, come behind the output
                    document = Document(stream, where, limit=_SAMPLE_LIMIT)
                    for key in fields(document):
                        value = document.value()
                        if key == "output":
                            return _model_of(value)
        return None

    def _packed(self, file: IO[bytes]) -> Iterator[Any]:
        with Archive(file, self.name, _is_no_sample) as archive:
            summarised = _SUMMARIES in archive or any(map(_JOURNAL.fullmatch, archive.names()))
            if summarised and not self.invalidated:
                yield from self._summaries(archive)
                return
            whole = Archive(file, self.name)
            if not summarised:
                yield from self._members(whole)
                return
            invalid = set(self._invalid(whole))
            for sample in self._summaries(archive):
                if isinstance(sample, dict):
                    sample["invalidation"] = _key(sample) in invalid
                yield sample

    def _summaries(self, archive: Archive) -> Iterator[Any]:
        found = filter(None, map(_JOURNAL.fullmatch, archive.names()))
        journal = [match[0] for match in sorted(found, key=lambda match: int(match[1]))]
        members = [_SUMMARIES] if _SUMMARIES in archive else journal
        for member in members:
            with archive.open(member) as stream:
                where = f"{self.name}, member {member}"
                document = Document(stream, where, limit=_SUMMARY_LIMIT)
                yield from elements(document)
                document.end()

    def _members(self, archive: Archive) -> Iterator[Any]:
        for member in archive.names():
            if _SAMPLE.fullmatch(member):
                with archive.open(member) as stream:
                    yield load(stream, f"{self.name}, member {member}", limit=_SAMPLE_LIMIT)

    def _invalid(self, archive: Archive) -> Iterator[tuple[str, str]]:
        """Yield keys of invalidated samples, which only the samples themselves know."""
        for sample in self._members(archive):
            if isinstance(sample, dict) and sample.get("invalidation"):
                yield _key(sample)


def find_logs(path: str | Path) -> tuple[list[Log], list[str]]:
    """Return the logs at a path or URL, headers read, and what was passed over, in words.

    Parameters
    ----------
    path
        A log, a directory with logs at any depth, or an fsspec URL of either.

    Raises
    ------
    ReaderError
        Nothing there, no log there, or a log whose header is broken.
    """
    fs, root = _filesystem(path)
    shown = str(path).rstrip("/")
    with _foreign(shown):
        if fs.isfile(root):
            return [_header(fs, root, shown)], []
        files = sorted(fs.find(root)) if fs.isdir(root) else None
    if files is None:
        raise ReaderError(f"{shown}: no such file or directory")
    logs, others, shards = [], [], set()
    for file in files:
        inside = file[len(root.rstrip("/")) :].lstrip("/\\")
        *folders, last = inside.replace("\\", "/").split("/")
        in_shards = [part for part in folders if part.endswith(".shards")]
        shards.update(in_shards)
        if in_shards or any(part.startswith(".") for part in (*folders, last)):
            continue
        name = f"{shown}/{inside}"
        if last.endswith(".eval") or (last.endswith(".json") and _starts_a_log(fs, file, name)):
            logs.append(_header(fs, file, name))
        else:
            others.append(last)
    if not logs:
        what = f"only {', '.join(others[:3])}" if others else "nothing"
        raise ReaderError(
            f"{shown}: no inspect log, there is {what}; expected .eval or .json files that "
            "inspect_ai has written"
        )
    if not shards:
        return logs, []
    names = ", ".join(sorted(shards)[:3])
    return logs, [f"parts of sharded logs are not read ({names}); the merged log is"]


def is_log(path: str | Path) -> bool:
    """Say whether there is an inspect log at `path`, or anywhere below it.

    Raises
    ------
    ReaderError
        A URL that cannot be opened or has nothing at it.
    """
    fs, root = _filesystem(path)
    with _foreign(str(path)):
        if fs.isfile(root):
            return _is_log_file(fs, root)
        if "://" in str(path) and not fs.isdir(root):
            raise ReaderError(f"{path}: no such file or directory")
        return any(
            name.endswith(_SUFFIXES) and _is_log_file(fs, f"{folder}/{name}")
            for folder, _, names in fs.walk(root)
            for name in names
        )


def _is_log_file(fs: Any, path: str) -> bool:
    try:
        return _starts_a_log(fs, path, path)
    except ReaderError:
        return False  # what cannot be opened is reported by whoever reads it


def _filesystem(path: str | Path) -> tuple[Any, str]:
    if "://" not in str(path):
        fs = import_module("fsspec").filesystem("file")
        return fs, fs._strip_protocol(str(path))  # noqa: SLF001 - how fsspec itself makes it absolute
    try:
        fs, root = import_module("fsspec.core").url_to_fs(str(path))
    except Exception as err:
        raise ReaderError(
            f"{path}: cannot open this address: {err or type(err).__name__}; file systems of "
            "fsspec are understood, some need a package of their own"
        ) from err
    return fs, root


@contextmanager
def _foreign(name: str) -> Iterator[None]:
    """Turn what a file system raises into a ReaderError; third parties raise what they like."""
    try:
        yield
    except ReaderError:
        raise
    except Exception as err:
        raise ReaderError(f"{name}: cannot be opened: {err or type(err).__name__}") from err


@contextmanager
def _opened(fs: Any, path: str, name: str) -> Iterator[IO[bytes]]:
    with _foreign(name):
        file = fs.open(path, "rb")
    with file:
        yield file


def _is_no_sample(member: bytes) -> bool:
    return not member.startswith(b"samples/")


def _starts_a_log(fs: Any, path: str, name: str) -> bool:
    with reading(name), _opened(fs, path, name) as file:
        head = file.read(_HEAD)
        first = first_member(head)
        if first is None:
            return _JSON_HEAD.match(head) is not None
        if _PACKED_HEAD.match(first):
            return True
        file.seek(0)
        with Archive(file, name, _is_no_sample) as archive:
            return _HEADER in archive or _START in archive


def _header(fs: Any, path: str, name: str) -> Log:
    with reading(name), _opened(fs, path, name) as file:
        head = file.read(_HEAD)
        file.seek(0)
        packed = first_member(head) is not None
        if not packed and path.endswith(".eval"):
            raise ReaderError(
                f"{name}: no zip archive ({len(head) or 'no'} bytes looked at); the run was killed "
                "before it wrote, or the copy is broken: remove the file or copy it again"
            )
        header, members = (
            _packed_header(file, name) if packed else (_plain_header(file, name), None)
        )
    return _log(header, fs=fs, path=path, name=name, members=members)


def _packed_header(file: IO[bytes], name: str) -> tuple[Any, int]:
    members = 0

    def keep(member: bytes) -> bool:
        nonlocal members
        if _is_no_sample(member):
            return True
        members += member.endswith(b"/sample.json") or (
            member.endswith(b".json") and member.count(b"/") == 1
        )
        return False

    with Archive(file, name, keep) as archive:
        for member in (_HEADER, _START):  # the second alone: the run is under way or was killed
            if member in archive:
                with archive.open(member) as stream:
                    where = f"{name}, member {member}"
                    return load(stream, where, limit=_SUMMARY_LIMIT), members
    raise ReaderError(f"{name}: a zip archive without {_HEADER} and {_START}: no inspect log")


def _plain_header(file: IO[bytes], name: str) -> dict[str, Any]:
    document = Document(file, name, limit=_SAMPLE_LIMIT)
    header: dict[str, Any] = {}
    for key in fields(document):
        if key != "samples":
            value = document.value()
            if key != "reductions":
                header[key] = value
        elif {"status", "eval"} <= header.keys():
            break
        else:
            for _ in _array(document):
                pass
    return header


def _plain_samples(file: IO[bytes], name: str) -> Iterator[Any]:
    document = Document(file, name, limit=_SAMPLE_LIMIT)
    for key in fields(document):
        if key == "samples":
            yield from _array(document)
        else:
            document.value()


def _array(document: Document) -> Iterator[Any]:
    """Elements of an array, none of null."""
    if document.peek() == "n":
        document.value()
    else:
        yield from elements(document)


def _log(header: Any, *, fs: Any, path: str, name: str, members: int | None) -> Log:
    spec = _mapping(header, "eval", name)
    if not spec:
        raise ReaderError(f"{name}: the header has no eval section: no inspect log")
    task, model = spec.get("task"), spec.get("model")
    for what, value in (("task", task), ("model", model)):
        if not isinstance(value, str) or not value:
            raise ReaderError(f"{name}: the header names no {what} (got {_kind(value)})")
    dataset, config = _mapping(spec, "dataset", name), _mapping(spec, "config", name)
    ids = dataset.get("sample_ids")
    epochs, planned = config.get("epochs"), dataset.get("samples")
    eval_id = str(spec.get("eval_id") or f"{spec.get('run_id')}/{spec.get('task_id')}")
    task_id = str(spec.get("task_id") or eval_id)
    plan, results = _mapping(header, "plan", name), _mapping(header, "results", name)
    total = results.get("total_samples")
    return Log(
        name=name,
        packed=members is not None,
        status=str(header.get("status") or "started"),
        task=str(task),
        model=str(model),
        args=_mapping(spec, "task_args", name),
        lineage=(task_id, str(model)),
        eval_id=eval_id,
        created=str(spec.get("created") or ""),
        epochs=epochs if isinstance(epochs, int) and epochs > 0 else 1,
        planned=planned if isinstance(planned, int) else None,
        order={str(one): i for i, one in enumerate(ids)} if isinstance(ids, list) else {},
        config=_mapping(spec, "model_generate_config", name) | _mapping(plan, "config", name),
        invalidated=header.get("invalidated") is True,
        total=total if isinstance(total, int) else None,
        members=members,
        _fs=fs,
        _path=path,
    )


def _mapping(parent: Any, key: str, name: str) -> dict[str, Any]:
    if not isinstance(parent, dict):
        raise ReaderError(f"{name}: the header is {_kind(parent)}, not an object")
    value = parent.get(key)
    if value is None:
        return {}
    if not isinstance(value, dict):
        raise ReaderError(f"{name}: {key} of the header is {_kind(value)}, not an object")
    return value


def _key(sample: dict[str, Any]) -> tuple[str, str]:
    return str(sample.get("id")), str(sample.get("epoch"))


def _model_of(output: Any) -> str | None:
    model = output.get("model") if isinstance(output, dict) else None
    return model if isinstance(model, str) and model else None


def _kind(value: Any) -> str:
    return "nothing" if value is None else f"a {type(value).__name__}"
