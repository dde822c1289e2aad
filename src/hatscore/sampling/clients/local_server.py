"""The process that serves a local model; started by :mod:`hatscore.sampling.clients.local`.

It is run as a script, imports nothing of hatscore, and never outlives its parent: it ends when
its standard input is closed, which the death of the parent does everywhere, and on Linux the
kernel ends it as well. When the model is loaded, it writes one line of JSON to its standard
output: ``{"address": "http://127.0.0.1:PORT"}``. Everything else goes to standard error.
"""

from __future__ import annotations

import ctypes
import json
import os
import signal
import sys
import threading

_PR_SET_PDEATHSIG = 1


def _end_with_parent(parent: int) -> None:
    if sys.platform == "linux":
        ctypes.CDLL(None, use_errno=True).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
        if os.getppid() != parent:  # it died before the line above
            os._exit(1)
    threading.Thread(target=_watch, daemon=True).start()


def _watch() -> None:
    while os.read(0, 4096):
        pass
    os._exit(0)


def main(options: str) -> None:
    """Serve until the parent goes.

    Parameters
    ----------
    options
        JSON with ``model`` (path), ``alias`` (served name), ``threads``, ``slots``, ``context``
        (tokens per slot) and ``parent`` (process id).
    """
    given = json.loads(options)
    _end_with_parent(given["parent"])
    answer = os.dup(1)
    os.dup2(2, 1)  # whatever native code prints belongs into the log

    import xllamacpp  # noqa: PLC0415 - loads native code: only under the watch

    params = xllamacpp.CommonParams()
    params.model.path = given["model"]
    params.model_alias = {given["alias"]}
    params.hostnames = ["127.0.0.1"]
    params.port = 0  # the system finds a free one
    params.n_parallel = given["slots"]
    params.n_ctx = given["slots"] * given["context"]
    # One shared context: a long prompt may use what the others leave, and batches of replies to
    # one prompt share its part.
    params.kv_unified = True
    for pool in (params.cpuparams, params.cpuparams_batch):
        pool.n_threads = given["threads"]
    params.ui = False
    server = xllamacpp.Server(params)
    os.write(answer, json.dumps({"address": server.listening_address}).encode() + b"\n")
    os.close(answer)
    threading.Event().wait()


if __name__ == "__main__":
    main(sys.argv[1])
