"""docs/ci-gate.md: every command in it runs, in order, and does what the page says."""

from __future__ import annotations

import json
import re
import shlex
import subprocess
import sys
from hashlib import sha256
from pathlib import Path

import pytest
from jsonschema import Draft202012Validator

from hatscore.benchmarks import get_benchmark
from hatscore.cli import main

PAGE = Path(__file__).parents[1] / "docs" / "ci-gate.md"
LANGUAGES = ("en", "de", "ru")


def blocks(kind):
    return re.findall(
        rf"^```{kind}\n(.*?)^```", PAGE.read_text(encoding="utf-8"), re.MULTILINE | re.DOTALL
    )


@pytest.fixture
def serve(model_server):
    """Serve a model whose share of right answers in each language is known."""
    benchmark = get_benchmark("wordmath")
    items = benchmark.load(
        languages=list(LANGUAGES), source_language="en", items=60, seed=0, options={}
    )
    asked = {
        benchmark.prompt(item, mode="chat", prompt_language="native").text: item for item in items
    }

    def start(name, transfer):
        def probability(prompt):
            item = asked[prompt]
            rate = int(sha256(item.id.encode()).hexdigest()[:8], 16) / 16**8
            return rate * (1.0 if item.language == "en" else transfer)

        return model_server(
            models=(name,),
            probability=probability,
            right=lambda prompt: f"Answer: {asked[prompt].gold.value}",
            wrong=lambda prompt: f"Answer: {int(asked[prompt].gold.value) + 1}",
            n_limit=4,
        ).url

    return start


@pytest.fixture
def shell(tmp_path, monkeypatch, capsys):
    """Run a line of the page as a shell would: variables, and standard output into files."""
    monkeypatch.chdir(tmp_path)

    def run(line, **variables):
        for name, value in variables.items():
            line = line.replace(f'"${name}"', value)
        assert "$" not in line
        words = shlex.split(line)
        target = None
        if ">" in words:
            *words, _, target = words
        assert words[0] == "hatscore"
        with pytest.raises(SystemExit) as end:
            main(words[1:])
        streams = capsys.readouterr()
        if target is not None:
            Path(target).write_text(streams.out, encoding="utf-8")
        return end.value.code, streams.out, streams.err

    return run


@pytest.mark.parametrize(("transfer", "code"), [(1.0, 0), (0.2, 1)])
def test_every_command_runs_and_the_gate_decides(serve, shell, transfer, code):
    urls = {"BASELINE_URL": serve("baseline", 0.8), "CANDIDATE_URL": serve("candidate", transfer)}
    lines = [line for block in blocks("sh") for line in block.splitlines()]
    assert len(lines) == 10
    gates = 0
    for line in lines:
        found, out, err = shell(line, **urls)
        gated = "--fail-below" in line or "--noninferior" in line
        gates += gated
        assert found == (code if gated else 0), (line, out, err)
        assert ("Gate failed" in err) == bool(gated and code)
    assert gates == 2
    comparison = json.loads(Path("comparison.json").read_text(encoding="utf-8"))
    schema = json.loads(Path("comparison.schema.json").read_text(encoding="utf-8"))
    Draft202012Validator(schema).validate(comparison)
    card = Path("card.md").read_text(encoding="utf-8")
    assert card.startswith("---\nmodel-index:")
    (script,) = blocks("python")
    done = subprocess.run(
        [sys.executable, "-c", script], check=False, capture_output=True, text=True
    )
    assert done.returncode == code
    assert done.stderr == ("surely worse in de, ru, macro\n" if code else "")


def test_the_page_names_real_options():
    from hatscore.cli import cli

    text = PAGE.read_text(encoding="utf-8")
    command = cli.get_command(None, "compare")
    known = {option for param in command.params for option in param.opts}
    named = set(re.findall(r"`(--[a-z-]+)", text))
    assert named <= known | {"--save"}
    assert {"--fail-below", "--noninferior", "--confidence"} <= named
