"""A page served to this machine: its files, nothing else, and not under another name."""

from __future__ import annotations

import http.client
import os
import signal
import subprocess
import sys
from urllib.parse import urlsplit

import pytest

from hatscore.cli import main, view
from hatscore.cli.view import serving
from hatscore.errors import InputError


@pytest.fixture
def folder(tmp_path):
    root = tmp_path / "report"
    (root / "items" / "0123").mkdir(parents=True)
    (root / "index.html").write_text("<p>page</p>", encoding="utf-8")
    (root / "items" / "0123" / "0-0.js").write_text("hatscore.take()", encoding="utf-8")
    (root / ".state").write_text("hidden")
    (tmp_path / "secret.txt").write_text("secret")
    (root / "out.txt").symlink_to(tmp_path / "secret.txt")
    return root


def ask(address, path="/", *, method="GET", host=None):
    where = urlsplit(address)
    connection = http.client.HTTPConnection(where.hostname, where.port, timeout=10)
    connection.request(method, path, headers={"Host": host or where.netloc})
    answer = connection.getresponse()
    body = answer.read().decode()
    connection.close()
    return answer.status, body, answer.headers


def test_files_are_served_with_their_kind(folder):
    with serving(folder) as address:
        status, body, headers = ask(address)
        assert (status, body) == (200, "<p>page</p>")
        assert headers["Content-Type"] == "text/html; charset=utf-8"
        assert headers["X-Content-Type-Options"] == "nosniff"
        status, body, headers = ask(address, "/items/0123/0-0.js?x=1")
        assert (status, body) == (200, "hatscore.take()")
        assert headers["Content-Type"] == "text/javascript; charset=utf-8"
        status, body, headers = ask(address, method="HEAD")
        assert (status, body, headers["Content-Length"]) == (200, "", "11")


@pytest.mark.parametrize(
    "path",
    ["/items/", "/items", "/.state", "/../secret.txt", "/%2e%2e/secret.txt", "/out.txt", "/none",
     "//etc/passwd", "/%00", "/%ff", "/items/../../secret.txt"],
)  # fmt: skip
def test_nothing_else_is_served(folder, path):
    with serving(folder) as address:
        status, body, headers = ask(address, path)
    assert (status, body) == (404, "404 Not Found\n")
    assert headers["Content-Type"].startswith("text/plain")


@pytest.mark.parametrize("host", ["evil.example", "127.0.0.1", "127.0.0.1:1", "localhost.evil:{}"])
def test_other_names_are_refused(folder, host):
    with serving(folder) as address:
        port = urlsplit(address).port
        assert ask(address, host=host.format(port))[:2] == (403, "403 Forbidden\n")
        assert ask(address, host=f"localhost:{port}")[0] == 200


def test_it_listens_on_loopback_and_a_taken_port_is_told(folder):
    with serving(folder) as address:
        assert address.startswith("http://127.0.0.1:")
        port = urlsplit(address).port
        with pytest.raises(InputError, match=rf"port {port} cannot be used.*--port 0"):
            serving(folder, port).__enter__()
        assert ask(address, method="POST")[0] == 501


def test_a_page_is_made_once_and_anew_when_the_data_change(sampled_run, tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    served = []

    class Serving:
        def __init__(self, directory, port):
            served.append((directory, (directory / "index.html").stat().st_ino, port))

        def __enter__(self):
            return "http://here/"

        def __exit__(self, *_):
            return None

    opened = []
    monkeypatch.setattr(view, "serving", Serving)
    monkeypatch.setattr(view, "_wait", lambda: None)
    monkeypatch.setattr(view.webbrowser, "open", opened.append)

    def run(*arguments):
        with pytest.raises(SystemExit) as end:
            main(["view", str(sampled_run), *arguments])
        assert end.value.code == 0

    run()
    run("--no-browser", "--port", "0")
    assert served[0][:2] == served[1][:2]
    assert opened == ["http://here/"]
    assert 'id="items-index"' in (served[0][0] / "index.html").read_text(encoding="utf-8")
    note = sampled_run / "note.txt"
    note.write_text("changed")
    run("--no-browser")
    note.unlink()
    assert served[2][0] == served[0][0]
    assert served[2][1] != served[0][1]
    run("--no-items", "--no-browser")
    assert served[3][0] != served[0][0]


def test_interrupt_ends_it_cleanly(folder):
    started = subprocess.Popen(
        [sys.executable, "-m", "hatscore", "view", str(folder), "--port", "0", "--no-browser"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        # a shell that starts it in the background would have it ignore the signal
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),  # noqa: PLW1509
        env={**os.environ, "PYTHONUNBUFFERED": "1"},
    )
    address = started.stdout.readline().strip()
    assert ask(address)[1] == "<p>page</p>"
    started.send_signal(signal.SIGINT)
    _, said = started.communicate(timeout=30)
    assert started.returncode == 0
    assert "Traceback" not in said
