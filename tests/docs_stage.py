"""The stage on which the commands of the documentation run: servers, keys and files they expect."""

from __future__ import annotations

import contextlib
import glob
import importlib.util
import io
import json
import os
import re
import signal
import subprocess
import sys
from functools import cache
from hashlib import sha256
from pathlib import Path
from threading import Timer
from typing import TYPE_CHECKING, Any
from urllib.request import urlopen

import pytest

from hatscore.benchmarks import get_benchmark
from hatscore.cli import main

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

TESTS = Path(__file__).parent
SHELL = re.compile(r"[|<>;&`]|\$\(")
# What a page tells its reader to set; here it is set already.
KEYS = ("HATSCORE_API_KEY", "OPENAI_API_KEY", "ANTHROPIC_API_KEY", "GOOGLE_API_KEY", "LAB_API_KEY")
FIXED = (*KEYS, "BASE_URL")
_SLOPES = {"de": 0.8, "es": 0.8, "sw": 0.5, "hi": 0.3, "ru": 0.6, "th": 0.4}


@cache
def load(file: str) -> Any:
    """Load a module of the tests by its path: tests are not a package."""
    name = f"hatscore_docs_{Path(file).stem}"
    spec = importlib.util.spec_from_file_location(name, TESTS / file)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    spec.loader.exec_module(module)
    return module


@cache
def answers() -> dict[str, tuple[str, float]]:
    """Right reply and its probability, by prompt, for the generated benchmarks."""
    found = {}
    for name, options in (
        ("worldfacts", {}),
        ("worldfacts", {"kind": "capital"}),
        ("wordmath", {}),
        ("wordmath", {"difficulty": "1"}),
        ("wordmath", {"difficulty": "3"}),
    ):
        benchmark = get_benchmark(name)
        languages = [tag for tag in ("en", *_SLOPES) if tag in benchmark.languages]
        items = benchmark.load(
            languages=languages, source_language="en", items=None, seed=0, options=options
        )
        for item in items:
            rate = int(sha256(item.id.encode()).hexdigest()[:8], 16) / 16**8
            reply = (item.gold.value, rate * _SLOPES.get(item.language, 1.0))
            for mode in ("chat", "completion"):
                prompt = benchmark.prompt(item, mode=mode, prompt_language="native")
                found[prompt.text] = reply
    return found


def right(prompt: str) -> str:
    if "Output one English word" in prompt:
        return "YES"
    return f"Answer: {answers().get(prompt, ('Nairobi', 0))[0]}"


def wrong(prompt: str) -> str:
    return "NO" if "Output one English word" in prompt else "Answer: 4711"


def probability(prompt: str) -> float:
    return answers().get(prompt, ("", 0.7))[1]


class Stage:
    """An empty directory, servers, and the environment in which a page's commands run.

    Parameters
    ----------
    folder
        Where the commands run.
    url, wire
        Addresses of an OpenAI-compatible server and of one that speaks as the vendors do.
    inspect
        Runs a command line of inspect, once for all pages that need its logs.
    monkeypatch, capsys
        Of pytest.
    """

    def __init__(
        self,
        folder: Path,
        *,
        url: str,
        wire: str,
        inspect: Callable[[str, Path], None],
        monkeypatch: pytest.MonkeyPatch,
        capsys: pytest.CaptureFixture[str],
    ) -> None:
        self.folder = folder
        self.inspect = inspect
        self.monkeypatch = monkeypatch
        self.capsys = capsys
        self.code = 0
        self.names: dict[str, Any] = {}
        monkeypatch.chdir(folder)
        for name in KEYS:
            monkeypatch.setenv(name, "a-key-of-nobody")
        monkeypatch.setenv("BASE_URL", f"{url}/v1")
        monkeypatch.delenv("HATSCORE_BASE_URL", raising=False)
        for name, path in (("OPENAI", "/v1"), ("ANTHROPIC", ""), ("GOOGLE", "")):
            monkeypatch.setenv(f"{name}_BASE_URL", wire + path)
        bin_ = str(Path(sys.executable).parent)
        monkeypatch.setenv("PATH", f"{bin_}{os.pathsep}{os.environ['PATH']}")

    def write(self, name: str, text: str) -> None:
        path = self.folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")

    def type(self, line: str, words: Sequence[str]) -> str:
        """Run what was typed and return what it printed; `code` is how it ended."""
        if words[0] == "export":
            for word in words[1:]:
                name, _, value = word.partition("=")
                if name not in FIXED:
                    self.monkeypatch.setenv(name, value)
            return ""
        if words[0] == "inspect":
            self.inspect(line, self.folder)
            return ""
        if words[:2] == ["hatscore", "view"]:
            return self.view(words[2:])
        if Path(words[0]).name == "hatscore":
            line, arrow, into = line.partition(" > ")
            if not SHELL.search(re.sub("'[^']*'", "", line + into)):
                asked = words[1:-2] if arrow else words[1:]
                return self.hatscore([part for word in asked for part in spread(word)], into)
            line += arrow + into
        done = subprocess.run(
            ["bash", "-c", f"(exit {self.code}); {line}"],  # noqa: S607 - found by the PATH
            capture_output=True,
            text=True,
            check=False,
            timeout=60,
        )
        self.code = done.returncode
        return done.stdout + done.stderr

    def hatscore(self, words: Sequence[str], into: str = "") -> str:
        self.capsys.readouterr()
        with self.monkeypatch.context() as patched:
            if words[0] == "run":
                # writing a page takes seconds, and `report` and `demo` write one on other pages
                patched.setattr("hatscore.report.write_report", _nothing)
            with pytest.raises(SystemExit) as end:
                main(words)
        self.code = int(end.value.code or 0)
        printed = self.capsys.readouterr()
        if into:
            self.write(into, printed.out)
            return printed.err
        return printed.out + printed.err

    def view(self, words: Sequence[str]) -> str:
        """Let `view` serve at any free port, ask for its page, and press Ctrl-C."""
        command = [sys.executable, "-m", "hatscore", "view", *words, "--port", "0", "--no-browser"]
        cache = {"XDG_CACHE_HOME": str(self.folder / "cache")}
        with subprocess.Popen(
            command,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            env={**os.environ, **cache},
        ) as process:
            assert process.stdout is not None
            said = ""
            for line in process.stdout:
                said += line
                if line.startswith("http://127.0.0.1:"):
                    break
            try:
                with urlopen(line.strip(), timeout=20) as page:  # noqa: S310 - on loopback
                    assert b"<html" in page.read()
            finally:
                process.send_signal(signal.SIGINT)
                # a view that does not hear Ctrl-C must not hold up the suite
                stuck = Timer(20, process.kill)
                stuck.start()
                said += process.stdout.read()
                stuck.cancel()
        self.code = process.returncode
        return said

    def python(self, text: str) -> None:
        """Run a block of Python, the names of earlier blocks of the page at hand."""
        with contextlib.redirect_stdout(io.StringIO()):
            exec(compile(text, "block", "exec"), self.names)  # noqa: S102 - our own pages


def _nothing(_: object, where: Path, **__: object) -> Path:
    return where / "index.html"


def spread(word: str) -> list[str]:
    """Expand variables and patterns of file names, as a shell would."""
    word = os.path.expandvars(word)
    return (glob.has_magic(word) and sorted(glob.glob(word))) or [word]  # noqa: PTH207


# -- files that a page takes to be there -------------------------------------------------------


def sampled(stage: Stage, model: str, where: str, *options: str) -> None:
    """Sample a small run."""
    given = options or ("-b", "worldfacts", "--kind", "capital", "--items", "12", "-l", "de,es")
    base = ("--base-url", os.environ["BASE_URL"], "--repeats", "4", "-o", where)
    printed = stage.hatscore(["run", f"openai-api/{model}", *base, *given])
    assert stage.code == 0, printed


def lm_eval(stage: Stage, folder: str, model: str) -> None:
    """Write samples and results as the harness does."""
    where = Path(folder) / model.replace("/", "__")
    stamp = "2026-05-01T10-00-00.000000"
    results: dict[str, Any] = {"model_name": model, "config": {"model": "m"}, "results": {}}
    results |= {"configs": {}, "n-samples": {}}
    for language, replies in (("en", ["12", "12", "7"]), ("de", ["12", "13", "7"])):
        task = f"mgsm_x10_{language}"
        rows = [
            {
                "doc_id": item,
                "doc": {"question": f"{language} {item}", "answer_number": gold},
                "target": str(gold),
                "arguments": {"gen_args_0": {"arg_0": f"{language} {item}", "arg_1": {}}},
                "resps": [replies],
                "filtered_resps": [replies[0]],
                "filter": "flexible-extract",
                "metrics": ["exact_match"],
                "doc_hash": f"{item}",
                "prompt_hash": f"{language}{item}",
                "target_hash": f"{gold}",
                "exact_match": float(replies[0] == str(gold)),
            }
            for item, gold in enumerate((12, 7, 12, 12))
        ]
        stage.write(
            f"{where}/samples_{task}_{stamp}.jsonl",
            "".join(json.dumps(row) + "\n" for row in rows),
        )
        mean = sum(row["exact_match"] for row in rows) / len(rows)
        results["results"][task] = {"alias": task, "exact_match,flexible-extract": mean}
        results["configs"][task] = {"task": task, "repeats": 3}
        results["n-samples"][task] = {"original": 4, "effective": 4}
    stage.write(f"{where}/results_{stamp}.json", json.dumps(results))


def helm(stage: Stage) -> None:
    """Write a suite of two runs."""
    write = load("readers/test_helm.py").write_run
    for language, right_ones in (("en", [1, 0, 1]), ("sw", [1, 1, 0])):
        name = f"mmlu:subject=law,lang={language},model=org_tiny"
        write(stage.folder / "benchmark_output" / "runs" / "my-suite", name, right_ones)


def lighteval(stage: Stage) -> None:
    """Write details of two tasks."""
    module = load("readers/test_lighteval.py")
    module.write_pair(stage.folder / "evals", module.new_row)


def eclektic(stage: Stage) -> None:
    """Write a file in the official layout."""
    module = load("benchmarks/test_eclektic.py")
    records = [module.record(name, source) for name, source in module.SOURCES.items()]
    module.official(stage.folder / "eclektic_main.jsonl", records)


def logs(stage: Stage, where: str = "logs") -> None:
    """Put down the logs of the task that the guide to inspect shows."""
    guide = load("docs_pages.py").blocks("docs/howto/inspect-logs.md")
    for block in guide:
        if block.title:
            stage.write(block.title, block.text)
    [line] = [c.line for block in guide for c in block.commands if c.program == "inspect"][:1]
    stage.type(line, line.split())
    if where != "logs":
        for log in list((stage.folder / "logs").iterdir()):
            (stage.folder / where).mkdir(exist_ok=True)
            log.rename(stage.folder / where / log.name)
