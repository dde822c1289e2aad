"""The documentation is true: what it says to type runs, and its site builds without warnings."""

from __future__ import annotations

import doctest
import importlib.util
import json
import os
import re
import shutil
import subprocess
import sys
import tomllib
from itertools import pairwise, zip_longest
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

ROOT = Path(__file__).parents[1]


def _load(file: str) -> Any:
    """Load a module beside this one by its path: tests are not a package."""
    spec = importlib.util.spec_from_file_location(Path(file).stem, Path(__file__).with_name(file))
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


docs = _load("docs_pages.py")
staging = _load("docs_stage.py")

pytestmark = [
    # what third parties warn of when a provider or the site generator is imported
    pytest.mark.filterwarnings("ignore::DeprecationWarning"),
    pytest.mark.filterwarnings("ignore::ResourceWarning"),
]

HAS_INSPECT = importlib.util.find_spec("inspect_ai") is not None
INSPECT = ("inspect",) if HAS_INSPECT else ()
# Pages with commands of inspect, or of models behind the SDKs that come with it.
PROVIDERS = (
    "README.md",
    "docs/formats/README.md",
    "docs/formats/inspect.md",
    "docs/howto/api-model.md",
    "docs/howto/inspect-logs.md",
    "docs/providers.md",
)

# Programs that are not run, and why; what can be checked of their command lines is.
NOT_RUN = {
    "make": "sets up an environment of its own",
    "pip": "installs packages",
}

# What a page leaves open for its reader to fill in, as it is filled in here.
STAND_INS: dict[str, dict[str, str]] = {
    "README.md": {
        "http://HOST:8000/v1": "$BASE_URL",
        "-l de,sw,hi --items 100": "-l de,sw,hi --items 40",
    },
    "docs/chain.md": {
        "hatscore run MODEL": "hatscore run openai-api/my-model --base-url $BASE_URL --items 3"
    },
    "docs/providers.md": {"-b mgsm -l sw,th": "-b wordmath -l th --items 2 --repeats 2"},
    "docs/plans.md": {"-b mgsm -l sw,th,bn": "-b wordmath -l de,th,bn"},
    "docs/formats/README.md": {"LOGS...": "logs"},
    "docs/tutorial.md": {"--items 20 --repeats 5 -l de,es,ru,sw": "--items 3 --repeats 4 -l de"},
}

# Command lines of the README that cannot run as they stand; other pages say why above the block.
README_NOT_RUN = {
    "local/PATH.gguf": "the file is the reader's",
    "mgsm": "needs the official files",
}

# Models of the runs that `prepare` makes.
SAMPLED = ("demo", "demo-small", "demo-large", "gemma-3-4b-it", "gemma-3-12b-it", "gemma-3-27b-it")

LOCAL = ("docs/tutorial.md",)
# This page needs two models that differ by a known amount; its own test runs it.
ELSEWHERE = {"docs/ci-gate.md": "test_docs_ci_gate.py"}
RUN = [page for page in docs.pages() if page not in (*LOCAL, *ELSEWHERE)]


def readme(stage: Any) -> None:
    options = ("-b", "worldfacts", "--items", "40", "-l", "de,sw,hi")
    staging.sampled(stage, "OTHER", "runs/other", *options)
    questions = docs.blocks("docs/howto/own-data.md")
    stage.write("questions.csv", next(b.text for b in questions if b.title == "questions.csv"))
    staging.logs(stage, "logs/inspect")
    staging.lm_eval(stage, "logs/lm-eval", "org/tiny")


def report(stage: Any) -> None:
    for size in ("small", "large"):
        staging.sampled(stage, f"demo-{size}", f"runs/{size}")


def study(stage: Any) -> None:
    for model in ("gemma-3-4b-it", "gemma-3-12b-it", "gemma-3-27b-it"):
        staging.sampled(stage, model, f"runs/{model}")


def plans(stage: Any) -> None:
    options = ("-b", "wordmath", "--items", "12", "-l", "de,es")
    staging.sampled(stage, "NAME", "runs/pilot", *options)


def tables(stage: Any) -> None:
    stage.write("results.csv", docs.blocks("docs/formats/table.md")[0].text)


def lm_eval_logs(stage: Any) -> None:
    staging.lm_eval(stage, "results", "org/tiny")
    staging.lm_eval(stage, "other-results", "org/other")


# What a page takes to be there.
PREPARE: dict[str, Callable[[Any], None]] = {
    "README.md": readme,
    "docs/formats/README.md": staging.logs,
    "docs/formats/helm.md": staging.helm,
    "docs/formats/inspect.md": staging.logs,
    "docs/formats/lighteval.md": staging.lighteval,
    "docs/formats/lm-eval.md": lm_eval_logs,
    "docs/formats/table.md": tables,
    "docs/howto/eclektic-judge.md": staging.eclektic,
    "docs/howto/helm-logs.md": staging.helm,
    "docs/howto/lm-eval-logs.md": lm_eval_logs,
    "docs/howto/report.md": report,
    "docs/index.md": lambda stage: staging.sampled(stage, "demo", "runs/demo"),
    "docs/plans.md": plans,
    "docs/study.md": study,
}


def why_not(command: Any) -> str:
    """Return why a command is not run, "" if it is."""
    if command.block.page == "README.md":
        for part, why in README_NOT_RUN.items():
            if part in command.line:
                return why
    return str(command.block.why_not_run or NOT_RUN.get(command.program, ""))


def in_turn(number: int) -> str:
    """Return what the vendors' server replies: a city that some guides ask for, or a number."""
    return ("Answer: Paris", "Answer: Nairobi", f"Answer: {number}")[number % 3]


@pytest.fixture(scope="module")
def servers() -> Iterator[tuple[str, str]]:
    server = staging.load("sampling/server.py").ModelServer
    wire = staging.load("sampling/wire.py").WireServer
    text = "".join(command.line for page in docs.pages() for command in docs.commands(page))
    known = re.findall(r"openai-api/([\w./-]+)", text)
    names = tuple({**dict.fromkeys(known), **dict.fromkeys(SAMPLED)})
    skills = {name: getattr(staging, name) for name in ("probability", "right", "wrong")}
    with server(models=names, **skills) as one, wire(reply=in_turn) as other:
        yield one.url, other.url


@pytest.fixture(scope="module")
def inspect_once(
    tmp_path_factory: pytest.TempPathFactory, servers: tuple[str, str]
) -> Callable[[str, Path], None]:
    """Run a command line of inspect in the folder where it was typed first; copy the logs then."""
    first: dict[str, Path] = {}

    def run(line: str, folder: Path) -> None:
        if line not in first:
            first[line] = tmp_path_factory.mktemp("inspect")
            for file in folder.glob("*.py"):
                shutil.copy(file, first[line])
            done = subprocess.run(
                ["bash", "-c", line],  # noqa: S607 - found by the PATH
                cwd=first[line],
                # inspect reads fields that only the server of the vendors has
                env={**os.environ, "BASE_URL": f"{servers[1]}/v1"},
                capture_output=True,
                text=True,
                check=False,
                timeout=120,
            )
            assert done.returncode == 0, done.stdout + done.stderr
        shutil.copytree(first[line] / "logs", folder / "logs", dirs_exist_ok=True)

    return run


@pytest.fixture
def stage(
    tmp_path: Path,
    servers: tuple[str, str],
    inspect_once: Callable[[str, Path], None],
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> Any:
    # fewer items than the command would draw: what is tested is that it runs
    from hatscore.studies import simulated

    small = simulated.Layout(("reasoning",), "", ("de", "ja", "sw", "th"), n_items=40)
    draw = simulated.simulate_study

    def simulate(registry: Any, *, rng: Any) -> Any:
        return draw(registry, layout=small, rng=rng)

    monkeypatch.setattr(simulated, "simulate_study", simulate)
    return staging.Stage(
        tmp_path,
        url=servers[0],
        wire=servers[1],
        inspect=inspect_once,
        monkeypatch=monkeypatch,
        capsys=capsys,
    )


def play(page: str, stage: Any) -> None:
    """Type every command of a page, in order, and run its blocks of Python."""
    PREPARE.get(page, lambda _: None)(stage)
    for block in docs.blocks(page):
        if block.title:
            stage.write(block.title, block.text)
        elif block.language == "python" and not block.why_not_run and ">>>" not in block.text:
            stage.python(block.text)
        steps = block.commands
        for command, after in zip_longest(steps, steps[1:]):
            if command.words and not why_not(command):
                step(command, stage, asked=after is not None and after.line == "echo $?")


def step(command: Any, stage: Any, *, asked: bool) -> None:
    """Type one command; it ends well, unless the next one asks how it ended."""
    line = command.line
    for part, whole in STAND_INS.get(command.block.page, {}).items():
        line = line.replace(part, whole)
    printed = stage.type(line, docs.Command(command.block, line, "").words)
    if command.line == "echo $?":
        assert printed.strip() == command.shown, command
        stage.code = 0
    elif "--noninferior" in line or "--fail-below" in line:
        # the two models are the same one here, and whether that can be shown is chance
        assert stage.code == 0 or "Gate failed" in printed, f"{command}\n{printed}"
    elif not asked:
        assert stage.code == 0, f"{command}\n{printed}"
        assert squeezed(command.shown) in squeezed(printed), f"{command}\n{printed}"


def squeezed(text: str) -> str:
    return " ".join(text.split())


@pytest.mark.parametrize("page", RUN)
def test_what_a_page_says_to_type_works(page: str, stage: Any) -> None:
    if page in PROVIDERS and not HAS_INSPECT:
        pytest.skip("needs the extra providers")
    play(page, stage)


@pytest.mark.model
@pytest.mark.parametrize("page", LOCAL)
def test_the_tutorial_works_with_the_real_model(
    page: str, stage: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HATSCORE_LOCAL_THREADS", "1")
    play(page, stage)


def check_names(words: list[str]) -> None:
    """Let a benchmark that is named be one, and have the languages that are named."""
    from hatscore.benchmarks import get_benchmark

    given = list(pairwise(words))
    if words[1] not in ("run", "plan"):
        return
    for benchmark in [get_benchmark(value) for option, value in given if option == "-b"]:
        for option, value in given:
            if option == "-l" and benchmark.name != "custom":
                assert set(value.split(",")) <= set(benchmark.languages), words


@pytest.mark.parametrize("page", docs.pages())
def test_every_command_line_is_one_that_hatscore_knows(page: str) -> None:
    extras = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"][
        "optional-dependencies"
    ]
    targets = set(re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text("utf-8"), re.MULTILINE))
    for command in docs.commands(page):
        words = command.words
        if command.program == "hatscore":
            docs.parse(words[1:])
            check_names(words)
        elif command.program == "make":
            assert set(words[1:]) <= targets, command
        elif command.program in ("pip", "python"):
            for extra in re.findall(r"\[([\w,]+)\]", command.line):
                assert set(extra.split(",")) <= set(extras), command


@pytest.mark.parametrize("page", docs.pages())
def test_python_json_and_toml_can_be_read(page: str) -> None:
    for block in docs.blocks(page):
        where = f"{page}:{block.line}"
        if block.language == "python" and ">>>" not in block.text:
            compile(block.text, where, "exec")
        elif block.language == "json":
            json.loads(block.text)
        elif block.language == "toml":
            tomllib.loads(block.text)
    examples = [b.text for b in docs.blocks(page) if b.language == "python" and ">>>" in b.text]
    if examples:
        test = doctest.DocTestParser().get_doctest("\n".join(examples), {}, page, page, 0)
        said: list[str] = []
        assert doctest.DocTestRunner().run(test, out=said.append).failed == 0, "".join(said)


def test_the_worked_example_is_what_the_hand_finds() -> None:
    text = (ROOT / "docs/explanation/hat.md").read_text("utf-8")
    rows = [
        tuple(map(int, row))
        for row in re.findall(r"^\| \w \| (\d+) \| (\d+) \|", text, re.MULTILINE)
    ]
    assert len(rows) == 6
    product = sum(s * t for s, t in rows) / 100
    square = sum(s * s for s, _ in rows) / 100
    pairs = sum(s * (s - 1) for s, _ in rows) / 90
    assert f"= {product:.2f}." in text
    assert f"{product:.2f} / {square:.2f} = **{product / square:.3f}**" in text
    assert f"{product:.2f} / {pairs:.3f} = **{product / pairs:.3f}**" in text


def test_a_page_that_runs_elsewhere_is_named_there() -> None:
    for page, file in ELSEWHERE.items():
        assert Path(page).name in Path(__file__).with_name(file).read_text("utf-8")


def test_a_block_that_is_not_run_says_why() -> None:
    for page in docs.pages():
        for block in docs.blocks(page):
            if block.why_not_run:
                assert block.commands or block.language == "python", (page, block.line)
                assert len(block.why_not_run.split()) > 1


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Build the site as `make docs` does."""
    pytest.importorskip("mkdocs", reason="needs the extra docs")
    where = tmp_path_factory.mktemp("site")
    done = subprocess.run(
        [sys.executable, "-m", "mkdocs", "build", "--strict", "--site-dir", str(where)],
        cwd=ROOT,
        env={**os.environ, "NO_MKDOCS_2_WARNING": "1"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert "WARNING" not in done.stderr
    return where


def test_the_site_refers_to_nothing_on_the_net_but_links(site: Path) -> None:
    pages = list(site.rglob("*.html"))
    assert len(pages) > 30
    for page in pages:
        html = page.read_text("utf-8")
        loads = re.findall(
            r"<(?!a\b)\w+[^>]*?\b(?:src|href|srcset|data)=[\"']?(?:https?:)?//[^ >]*", html
        )
        loads = [one for one in loads if 'rel="canonical"' not in one]
        assert not loads, (page.name, loads)
        assert "preconnect" not in html
    for style in site.rglob("*.css"):
        assert not re.search(r"(?:url\(|@import)\s*[\"']?(?:https?:)?//", style.read_text("utf-8"))


def test_the_reference_shows_every_command_and_every_public_name(site: Path) -> None:
    from importlib import import_module

    from hatscore.cli import COMMANDS

    commands = (site / "reference" / "cli.html").read_text("utf-8")
    assert "Sentinel" not in commands
    for name in COMMANDS:
        assert f'id="hatscore-{name}"' in commands
    python = (site / "reference" / "python.html").read_text("utf-8")
    rooms = (
        "",
        "stats",
        "grading",
        "benchmarks",
        "readers",
        "sampling",
        "planning",
        "judging",
        "report",
        "errors",
        *INSPECT,
    )
    missing = []
    for room in rooms:
        module = import_module(f"hatscore.{room}".rstrip("."))
        for name in module.__all__:
            value = getattr(module, name)
            if callable(value) and f">{name}<" not in re.sub(r"\s+", "", python):
                missing.append(f"{room}.{name}")
    assert not missing
