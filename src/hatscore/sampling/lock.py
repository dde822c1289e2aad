"""One writer per run directory: a lock that the operating system drops with the process."""

from __future__ import annotations

import contextlib
import os
import sys
from typing import TYPE_CHECKING

from hatscore.errors import RunError

if TYPE_CHECKING:
    from pathlib import Path

__all__ = ["Lock"]


class Lock:
    """An exclusive lock on a file; gone when the process is gone, however it ended.

    Parameters
    ----------
    path
        The lock file. It stays behind, empty of meaning: the lock is on the open file.

    Raises
    ------
    RunError
        Another process holds the lock, or the file cannot be created.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        try:
            self._descriptor: int | None = os.open(path, os.O_RDWR | os.O_CREAT, 0o644)
        except OSError as error:
            raise RunError(
                f"{path}: cannot create the lock of the run: {error.strerror}; "
                "choose a directory that can be written"
            ) from error
        try:
            _lock(self._descriptor)
        except BlockingIOError as error:
            holder = self._holder()
            self.release()
            raise RunError(
                f"{path.parent}: another process{holder} is sampling into this run; "
                "wait for it, stop it, or choose another directory"
            ) from error
        except OSError as error:
            self.release()
            raise RunError(
                f"{path}: this file system cannot lock ({error.strerror}); "
                "choose a directory on a local disk"
            ) from error
        # A note for the message above only; on a full disk the lock holds without it.
        with contextlib.suppress(OSError):
            os.lseek(self._descriptor, 0, os.SEEK_SET)
            os.truncate(self._descriptor, 0)
            os.write(self._descriptor, f"{os.getpid()}\n".encode())

    def release(self) -> None:
        """Let another process have it; a second call does nothing."""
        if self._descriptor is not None:
            os.close(self._descriptor)
            self._descriptor = None

    def _holder(self) -> str:
        try:
            text = self.path.read_text(encoding="ascii").strip()
        except (OSError, UnicodeDecodeError):
            return ""
        return f" (process {text})" if text.isdigit() else ""


if sys.platform == "win32":
    import msvcrt

    def _lock(descriptor: int) -> None:
        try:
            # Far behind the content, which others may read: Windows locks bytes, not files.
            os.lseek(descriptor, 1 << 20, os.SEEK_SET)
            msvcrt.locking(descriptor, msvcrt.LK_NBLCK, 1)
        except PermissionError as error:
            raise BlockingIOError(str(error)) from error
else:
    import fcntl

    def _lock(descriptor: int) -> None:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
