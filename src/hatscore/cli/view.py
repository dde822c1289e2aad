"""``hatscore view``: the page of runs in a browser, served to this machine alone."""

from __future__ import annotations

import mimetypes
import os
import webbrowser
from contextlib import contextmanager
from hashlib import sha256
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from socketserver import TCPServer
from threading import Event, Thread
from typing import TYPE_CHECKING, Any, ClassVar
from urllib.parse import unquote, urlsplit

import click

from hatscore._version import __version__
from hatscore.cli.complete import complete_paths
from hatscore.cli.options import grading_options, items_option, reader_options
from hatscore.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["command", "serving"]

_PAGE = "index.html"
_LOOPBACK = "127.0.0.1"
_HTTP = 80
_HOSTS = ("127.0.0.1", "localhost")
_TYPES = {
    ".html": "text/html; charset=utf-8",
    ".js": "text/javascript; charset=utf-8",
    ".csv": "text/csv; charset=utf-8",
}
_SAFE = {
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Resource-Policy": "same-origin",
    "X-Frame-Options": "DENY",
    "Cache-Control": "no-cache",
}


@click.command("view")
@click.argument("paths", nargs=-1, required=True, metavar="PATH...", shell_complete=complete_paths)
@click.option(
    "--port",
    type=click.IntRange(0, 65535),
    default=8484,
    show_default=True,
    help="Port on this machine; 0 for any that is free.",
)
@click.option("--no-browser", is_flag=True, help="Print the address and open no browser.")
@items_option
@grading_options
@reader_options
def command(paths: tuple[str, ...], port: int, no_browser: bool, **given: Any) -> None:
    """Show the page of runs in a browser, with all items behind the scores, until Ctrl-C.

    PATH is a directory that `hatscore report` wrote, or whatever `hatscore report` reads: its page
    is then made, and kept until the data change. Other machines cannot reach it.
    """
    page = _existing(paths) or _built(paths, given)
    with serving(page.parent, port) as address:
        click.echo(address)
        click.echo("Ctrl-C ends it.", err=True)
        if not no_browser:
            webbrowser.open(address)
        _wait()


def _wait() -> None:
    """Return when somebody presses Ctrl-C."""
    never = Event()
    try:
        # in short steps: the charting library restarts a wait without an end after a signal
        while not never.wait(0.2):
            pass
    except KeyboardInterrupt:
        click.echo("", err=True)


def _existing(paths: tuple[str, ...]) -> Path | None:
    """Return the page where the only path is a report, or a page itself."""
    if len(paths) != 1:
        return None
    path = Path(paths[0])
    page = path if path.name == _PAGE else path / _PAGE
    return page if page.is_file() else None


def _built(paths: tuple[str, ...], given: dict[str, Any]) -> Path:
    """Return the page of `paths`, made anew unless data and options are as they were."""
    from hatscore.cli.comparable import check_comparable
    from hatscore.cli.pages import write_page
    from hatscore.cli.reading import read_graded
    from hatscore.models import load_models

    wanted, names, count = given.pop("items"), given.pop("names"), given.pop("count")
    options = [wanted, names, count, *((name, value) for name, value in given.items() if value)]
    state = _hash(_state(paths))
    directory = _cache() / _hash([[str(Path(path).resolve()) for path in paths], options])
    page, stamp = directory / _PAGE, directory / ".state"
    if page.is_file() and stamp.is_file() and stamp.read_text(encoding="utf-8") == state:
        return page
    for note in check_comparable(paths):
        click.echo(f"Note: {note}", err=True)
    click.echo("Building the page ...", err=True)
    outcomes = read_graded(paths, names=names, count=count, given=given)
    stamp.unlink(missing_ok=True)
    page = write_page(
        paths,
        outcomes,
        directory,
        names=names,
        count=count,
        registry=load_models(()),
        given=given,
        wanted=wanted,
        formats=(),
    )
    stamp.write_text(state, encoding="utf-8")
    return page


def _hash(value: object) -> str:
    return sha256(repr(value).encode("utf-8", "replace")).hexdigest()[:32]


def _state(paths: tuple[str, ...]) -> list[tuple[str, int, int]]:
    """Return every file below `paths` with its size and the time it was changed."""
    found = [(__version__, 0, 0)]
    for path in paths:
        if "://" in path:
            raise InputError(f"{path}: a page is made of files on this machine; copy it here")
        root = Path(path).resolve()
        for folder, below, files in os.walk(root):
            # a page among the data is none of them
            below[:] = sorted(name for name in below if not (Path(folder, name) / _PAGE).is_file())
            found += [_entry(Path(folder, name)) for name in sorted(files)]
        if root.is_file():
            found.append(_entry(root))
    # readers of SQLite leave an index and an empty journal
    return [x for x in found if not x[0].endswith("-shm") and (x[1] or x[0][-4:] != "-wal")]


def _entry(file: Path) -> tuple[str, int, int]:
    try:
        stat = file.stat()
    except OSError:  # gone, or a link that leads nowhere
        return str(file), -1, -1
    return str(file), stat.st_size, stat.st_mtime_ns


def _cache() -> Path:
    """Return the user's directory for pages."""
    base = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return Path(base) / "hatscore" / "pages"


@contextmanager
def serving(directory: Path, port: int = 0) -> Iterator[str]:
    """Serve the files of `directory` on loopback, in a thread, and yield the address of the page.

    Files below the directory are served and nothing else: no listing, no way up, no link that
    leads out. A request that names another host is refused, so that a name of the outer world
    that is made to point here reads nothing.

    Parameters
    ----------
    directory
        Of the page.
    port
        0 for any that is free.

    Raises
    ------
    InputError
        The port is taken or not allowed.
    """
    handler = type("Handler", (_Handler,), {"root": directory.resolve()})
    try:
        server = _Server((_LOOPBACK, port), handler)
    except OSError as error:
        raise InputError(
            f"port {port} cannot be used: {error.strerror}; choose another with --port, "
            "or --port 0 for any that is free"
        ) from error
    thread = Thread(target=server.serve_forever, kwargs={"poll_interval": 0.1}, daemon=True)
    thread.start()
    try:
        yield f"http://{_LOOPBACK}:{server.server_port}/"
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


class _Server(ThreadingHTTPServer):
    """Listens on loopback."""

    daemon_threads = True

    def server_bind(self) -> None:
        """Bind, and ask no name server what this machine is called, as the base class does."""
        TCPServer.server_bind(self)
        self.server_name, self.server_port = _LOOPBACK, int(self.socket.getsockname()[1])


class _Handler(BaseHTTPRequestHandler):
    """Answers GET and HEAD with files of one directory."""

    root: ClassVar[Path]
    server_version = "hatscore"
    sys_version = ""
    protocol_version = "HTTP/1.1"
    timeout = 30

    def do_GET(self) -> None:
        """Send a file."""
        self._answer(with_body=True)

    def do_HEAD(self) -> None:
        """Say what would be sent."""
        self._answer(with_body=False)

    def _answer(self, *, with_body: bool) -> None:
        if not self._is_ours():
            self._refuse(HTTPStatus.FORBIDDEN, with_body=with_body)
        elif (file := self._file()) is None:
            self._refuse(HTTPStatus.NOT_FOUND, with_body=with_body)
        else:
            kind = _TYPES.get(file.suffix) or mimetypes.guess_type(file.name)[0]
            kind = kind or "application/octet-stream"
            self._send(HTTPStatus.OK, file.read_bytes(), kind, with_body=with_body)

    def _is_ours(self) -> bool:
        """Say whether the request names this machine, as a page of another name would not."""
        port = self.connection.getsockname()[1]
        named = {f"{host}:{port}" for host in _HOSTS} | (set(_HOSTS) if port == _HTTP else set())
        return self.headers.get("Host", "") in named

    def _file(self) -> Path | None:
        try:
            asked = unquote(urlsplit(self.path).path, errors="strict")
            path = (self.root / (asked.lstrip("/") or _PAGE)).resolve()
            hidden = any(part.startswith(".") for part in path.relative_to(self.root).parts)
            return path if path.is_file() and not hidden else None
        except (OSError, ValueError):  # outside, or no name of a file
            return None

    def _refuse(self, status: HTTPStatus, *, with_body: bool) -> None:
        text = f"{status.value} {status.phrase}\n"
        self._send(status, text.encode(), "text/plain; charset=utf-8", with_body=with_body)

    def _send(self, status: HTTPStatus, body: bytes, kind: str, *, with_body: bool) -> None:
        self.send_response(status)
        for name, value in {
            "Content-Type": kind, "Content-Length": str(len(body)), **_SAFE
        }.items():  # fmt: skip
            self.send_header(name, value)
        self.end_headers()
        if with_body:
            self.wfile.write(body)

    def log_message(self, format: str, *args: Any) -> None:  # noqa: A002 - the name of the base class
        """Say nothing: the address is all that is to be read."""
