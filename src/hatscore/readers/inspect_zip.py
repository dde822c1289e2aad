"""Members of a zip archive as streams, zstd among them.

Python's zipfile reads zstd from 3.14 on, and makes an object of every member: a log has one for
each sample, most of which are never opened. Here the directory is walked without keeping those,
and stored, deflated and zstd members (over several frames) are read, their checksums compared.

Format: PKWARE APPNOTE 6.3.10.
"""

from __future__ import annotations

import struct
import zlib
from contextlib import contextmanager
from typing import IO, TYPE_CHECKING, NamedTuple, Protocol, Self, cast

import zstandard

from hatscore.errors import ReaderError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

__all__ = ["MAGIC", "Archive", "Readable", "first_member", "reading"]

MAGIC = b"PK\x03\x04"
_STORED, _DEFLATED, _AES = 0, 8, 99
_ZSTD = (93, 20)  # zstd had 20 for a short time, then 93
_LOCAL = struct.Struct("<4sHHHHHIIIHH")
_ENTRY = struct.Struct("<4sHHHHHHIIIHHHHHII")
_END = struct.Struct("<4sHHHHIIH")
_END64_LOCATOR = struct.Struct("<4sIQI")
_END64 = struct.Struct("<4sQHHIIQQQQ")
_LONGEST_COMMENT = 0xFFFF
_FULL16, _FULL32 = 0xFFFF, 0xFFFFFFFF  # the number stands in the 64-bit part
_ENCRYPTED, _UTF8 = 0x1, 0x800
_LONGEST_ENTRY = _ENTRY.size + 3 * 0xFFFF  # name, extra and comment have 16-bit lengths
_CHUNK, _DIRECTORY_CHUNK = 1 << 16, 1 << 19


class Readable(Protocol):
    """What the JSON reader needs of a file."""

    def read(self, size: int = -1, /) -> bytes:
        """Return up to `size` bytes, none at the end."""
        ...


class _Member(NamedTuple):
    flags: int
    method: int
    crc: int
    packed: int
    size: int
    offset: int


@contextmanager
def reading(name: str) -> Iterator[None]:
    """Turn whatever broken bytes do to a decoder into a ReaderError that names the file."""
    try:
        yield
    except ReaderError:
        raise
    except (
        OSError,
        EOFError,
        ValueError,  # also what is no Unicode
        LookupError,
        OverflowError,
        RuntimeError,
        struct.error,
        zlib.error,
        zstandard.ZstdError,
    ) as err:
        raise ReaderError(f"{name}: not readable: {err or type(err).__name__}") from err


def first_member(head: bytes) -> str | None:
    """Return the name of the first member of an archive from its first bytes, None if none."""
    if not head.startswith(MAGIC) or len(head) < _LOCAL.size:
        return None
    length = _LOCAL.unpack_from(head)[-2]
    return head[_LOCAL.size : _LOCAL.size + length].decode("utf-8", "replace")


class Archive:
    """A zip archive open for reading.

    Parameters
    ----------
    file
        Seekable binary file; closed with the archive.
    name
        Its name for messages.
    keep
        Which members are wanted, by name; the others are not there.

    Raises
    ------
    ReaderError
        No zip archive, or one that is cut off.
    """

    def __init__(
        self, file: IO[bytes], name: str, keep: Callable[[bytes], bool] = lambda _: True
    ) -> None:
        self.name = name
        self._file = file
        with reading(name):
            self._members = self._directory(keep)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._file.close()

    def names(self) -> list[str]:
        """Return the names of the wanted members, each once, in order of the directory."""
        return list(self._members)

    def __contains__(self, member: str) -> bool:
        return member in self._members

    @contextmanager
    def open(self, member: str) -> Iterator[Readable]:
        """Open a member; of several with one name the last, as writers supersede by appending.

        Raises
        ------
        ReaderError
            No such member, an encrypted one, or one that cannot be decompressed; also from
            within the block.
        """
        where = f"{self.name}, member {member}"
        with reading(where):
            found = self._members.get(member)
            if found is None:
                raise ReaderError(f"{self.name}: the archive has no member {member}")
            if found.flags & _ENCRYPTED or found.method == _AES:
                raise ReaderError(f"{where}: encrypted; unpack it with its password and zip it new")
            chunks = self._unpacked(found, where)
            yield _Chunks(chunks, found, where)

    def _unpacked(self, member: _Member, where: str) -> Iterator[bytes]:
        chunks = self._packed(member, where)
        if member.method == _STORED:
            return chunks
        if member.method == _DEFLATED:
            return _inflated(chunks)
        if member.method in _ZSTD:
            return _unzstd(chunks)
        raise ReaderError(
            f"{where}: compressed by method {member.method}; known are stored (0), deflate (8) "
            "and zstd (93, 20). Unpack the log and zip it new"
        )

    def _packed(self, member: _Member, where: str) -> Iterator[bytes]:
        self._file.seek(member.offset)
        head = self._file.read(_LOCAL.size)
        if len(head) < _LOCAL.size or not head.startswith(MAGIC):
            raise ReaderError(
                f"{where}: the directory of the archive points to a place where no member begins; "
                "the file is damaged, copy it again"
            )
        *_, name_length, extra_length = _LOCAL.unpack(head)
        at = member.offset + _LOCAL.size + int(name_length) + int(extra_length)
        end = at + member.packed
        while at < end:
            self._file.seek(at)  # another member may have been read in between
            chunk = self._file.read(min(_CHUNK, end - at))
            if not chunk:
                raise ReaderError(f"{where}: the archive ends within it; copy the log again")
            at += len(chunk)
            yield chunk

    def _directory(self, keep: Callable[[bytes], bool]) -> dict[str, _Member]:
        start, left = self._find_directory()
        members: dict[str, _Member] = {}
        data, at = b"", 0
        while left or at < len(data):
            if left and len(data) - at < _LONGEST_ENTRY:
                self._file.seek(start)
                more = self._file.read(min(left, _DIRECTORY_CHUNK))
                data, at = data[at:] + more, 0
                start += len(more)
                left = left - len(more) if more else 0
            if len(data) - at < _ENTRY.size:
                raise self._broken("its directory is cut off")
            entry = _ENTRY.unpack_from(data, at)
            if entry[0] != b"PK\x01\x02":
                raise self._broken("its directory has an entry that is none")
            begin = at + _ENTRY.size
            end = begin + entry[10]
            name = data[begin:end]
            at = end + entry[11] + entry[12]
            if at > len(data):
                raise self._broken("its directory is cut off")
            if keep(name):
                coding = "utf-8" if entry[3] & _UTF8 else "cp437"
                extra = data[end : end + entry[11]]
                members[name.decode(coding, "replace")] = _member(entry, extra, self._shift)
        return members

    def _find_directory(self) -> tuple[int, int]:
        """Return where the directory begins and how long it is."""
        self._shift = 0
        length = self._file.seek(0, 2)
        tail_start = max(0, length - _LONGEST_COMMENT - _END.size - _END64_LOCATOR.size)
        self._file.seek(tail_start)
        tail = self._file.read()
        at = tail.rfind(b"PK\x05\x06")
        if at < 0 or at + _END.size > len(tail):
            raise self._broken("it has no directory at its end")
        _, _, _, _, count, size, offset, _ = _END.unpack_from(tail, at)
        directory_end = tail_start + at
        if count == _FULL16 or _FULL32 in (size, offset):
            locator = at - _END64_LOCATOR.size
            if locator >= 0 and tail[locator : locator + 4] == b"PK\x06\x07":
                _, _, where, _ = _END64_LOCATOR.unpack_from(tail, locator)
                self._file.seek(where)
                record = self._file.read(_END64.size)
                if len(record) < _END64.size or not record.startswith(b"PK\x06\x06"):
                    raise self._broken("its 64-bit directory is not where it says")
                *_, size, offset = _END64.unpack(record)
                directory_end = where
        self._shift = directory_end - size - offset  # not 0 where something was put before it
        if self._shift < 0:
            raise self._broken("its directory is longer than what is there")
        return directory_end - size, size

    def _broken(self, what: str) -> ReaderError:
        return ReaderError(
            f"{self.name}: a broken or cut off zip archive: {what}. Copy the log again, or if its "
            "run was killed recover it with `inspect log recover`"
        )


class _Chunks:
    """Unpacked chunks as a file; their number and checksum are compared with the directory's."""

    def __init__(self, chunks: Iterator[bytes], member: _Member, where: str) -> None:
        self._chunks = chunks
        self._where = where
        self._left = member.size
        self._expected = member.crc
        self._crc = 0

    def read(self, size: int = -1, /) -> bytes:
        """Return some `size` bytes; whole chunks, as nobody here needs a number to the byte."""
        parts: list[bytes] = []
        have = 0
        with reading(self._where):
            while size < 0 or have < max(size, 1):
                chunk = next(self._chunks, None)
                if chunk is None:
                    if self._left or self._crc != self._expected:
                        raise ReaderError(
                            f"{self._where}: length or checksum differ from the directory's; "
                            "the file is damaged, copy it again"
                        )
                    break
                self._crc = zlib.crc32(chunk, self._crc)
                self._left -= len(chunk)
                if self._left < 0:
                    raise ReaderError(f"{self._where}: longer than the directory says; damaged")
                parts.append(chunk)
                have += len(chunk)
        return b"".join(parts)


def _member(entry: tuple[int, ...], extra: bytes, shift: int) -> _Member:
    flags, method, crc, packed, size, offset = (entry[i] for i in (3, 4, 7, 8, 9, 16))
    at = 0
    while at + 4 <= len(extra):
        kind, length = struct.unpack_from("<HH", extra, at)
        if kind == 1:  # the 64-bit values, of those that were too large only
            values = iter(struct.unpack_from(f"<{length // 8}Q", extra, at + 4))
            size = next(values, size) if size == _FULL32 else size
            packed = next(values, packed) if packed == _FULL32 else packed
            offset = next(values, offset) if offset == _FULL32 else offset
        at += 4 + length
    return _Member(flags, method, crc, packed, size, offset + shift)


def _inflated(chunks: Iterator[bytes]) -> Iterator[bytes]:
    unpacker = zlib.decompressobj(-zlib.MAX_WBITS)
    for chunk in chunks:
        data = chunk
        while data:
            yield unpacker.decompress(data, 8 * _CHUNK)
            data = unpacker.unconsumed_tail
    yield unpacker.flush()
    if not unpacker.eof:
        raise EOFError("the compressed data are cut off")


def _unzstd(chunks: Iterator[bytes]) -> Iterator[bytes]:
    """Decompress all frames; never more than a chunk at a time, however small the input."""
    source = cast("IO[bytes]", _Source(chunks))
    reader = zstandard.ZstdDecompressor().stream_reader(source, read_across_frames=True)
    while chunk := reader.read(8 * _CHUNK):
        yield chunk


class _Source:
    """Chunks as the file that zstandard wants."""

    def __init__(self, chunks: Iterator[bytes]) -> None:
        self._chunks = chunks

    def read(self, _size: int = -1, /) -> bytes:
        return next(self._chunks, b"")
