"""Members of a zip archive as streams, zstd among them.

Python's zipfile reads zstd from 3.14 on, and inspect logs are zstd. The directory of the archive
is left to zipfile; zstd members are decompressed here, across frames, their checksums compared.
"""

from __future__ import annotations

import struct
import zipfile
import zlib
from contextlib import contextmanager
from io import RawIOBase
from typing import IO, TYPE_CHECKING, Any, Protocol, Self, cast

import zstandard

from hatscore.errors import ReaderError

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["MAGIC", "Archive", "Readable", "first_member", "reading"]

MAGIC = b"PK\x03\x04"
_ZSTD = (93, 20)  # APPNOTE 6.3.8 gave zstd 93 after 20 had been in use for a short time
_LOCAL_HEADER = struct.Struct("<4sHHHHHIIIHH")
_ENCRYPTED = 0x1


class Readable(Protocol):
    """What the JSON reader needs of a file."""

    def read(self, size: int = -1, /) -> bytes:
        """Return up to `size` bytes, none at the end."""
        ...


@contextmanager
def reading(name: str) -> Iterator[None]:
    """Turn whatever broken bytes do to a decoder into a ReaderError that names the file."""
    try:
        yield
    except ReaderError:
        raise
    except zipfile.BadZipFile as err:
        raise ReaderError(
            f"{name}: a broken or cut off zip archive ({err}); copy the log again, or if its run "
            "was killed recover it with `inspect log recover`"
        ) from err
    except (
        OSError,
        EOFError,
        ValueError,  # also what is no Unicode
        LookupError,
        OverflowError,
        RuntimeError,  # also NotImplementedError of zipfile
        struct.error,
        zlib.error,
        zstandard.ZstdError,
    ) as err:
        raise ReaderError(f"{name}: not readable: {err or type(err).__name__}") from err


def first_member(head: bytes) -> str | None:
    """Return the name of the first member of an archive from its first bytes, None if none."""
    if not head.startswith(MAGIC) or len(head) < _LOCAL_HEADER.size:
        return None
    length = _LOCAL_HEADER.unpack_from(head)[-2]
    return head[_LOCAL_HEADER.size : _LOCAL_HEADER.size + length].decode("utf-8", "replace")


class Archive:
    """A zip archive open for reading.

    Parameters
    ----------
    file
        Seekable binary file; closed with the archive.
    name
        Its name for messages.

    Raises
    ------
    ReaderError
        No zip archive, or one that is cut off.
    """

    def __init__(self, file: IO[bytes], name: str) -> None:
        self.name = name
        self._file = file
        with reading(name):
            self._zip = zipfile.ZipFile(file)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._zip.close()
        self._file.close()

    def names(self) -> list[str]:
        """Return the names of all members, each once, in order of the directory."""
        return list(self._zip.NameToInfo)

    def __contains__(self, member: str) -> bool:
        return member in self._zip.NameToInfo

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
            if member not in self:
                raise ReaderError(f"{self.name}: the archive has no member {member}")
            info = self._zip.getinfo(member)
            if info.flag_bits & _ENCRYPTED:
                raise ReaderError(f"{where}: encrypted; unpack it with its password and zip it new")
            if info.compress_type in _ZSTD:
                packed = _Span(self._file, self._data_start(info), info.compress_size)
                unpacked = zstandard.ZstdDecompressor().stream_reader(
                    cast("IO[bytes]", packed), read_across_frames=True
                )
                yield _Checked(unpacked, info.file_size, info.CRC)
            else:
                with self._zip.open(info) as file:
                    yield file

    def _data_start(self, info: zipfile.ZipInfo) -> int:
        self._file.seek(info.header_offset)
        head = self._file.read(_LOCAL_HEADER.size)
        if len(head) < _LOCAL_HEADER.size or not head.startswith(MAGIC):
            raise ReaderError(
                f"{self.name}, member {info.filename}: the directory points to a place where no "
                "member begins; the archive is damaged, copy the log again"
            )
        *_, name_length, extra_length = _LOCAL_HEADER.unpack(head)
        return info.header_offset + _LOCAL_HEADER.size + int(name_length) + int(extra_length)


class _Span(RawIOBase):
    """A part of a file as a file; keeps its own position, as several may be open."""

    def __init__(self, file: IO[bytes], start: int, size: int) -> None:
        self._file = file
        self._at = start
        self._end = start + size

    def readable(self) -> bool:
        return True

    def readinto(self, into: Any, /) -> int:
        self._file.seek(self._at)
        data = self._file.read(min(len(into), self._end - self._at))
        into[: len(data)] = data
        self._at += len(data)
        return len(data)


class _Checked:
    """Decompressed bytes, their number and checksum compared with the directory's."""

    def __init__(self, source: Readable, size: int, crc: int) -> None:
        self._source = source
        self._left = size
        self._crc = crc
        self._seen = 0

    def read(self, size: int = -1, /) -> bytes:
        data = self._source.read(size)
        self._left -= len(data)
        self._seen = zlib.crc32(data, self._seen)
        ended = not data and size != 0
        if self._left < 0 or (ended and self._left) or (ended and self._seen != self._crc):
            raise ReaderError("size or checksum differ from the directory's; copy the log again")
        return data
