"""Study files: what is refused before it costs, what is sampled, judged, bounded and resumed."""

from __future__ import annotations

import json
import re
import socket
from types import SimpleNamespace

import pytest

from hatscore.benchmarks.eclektic_data import LANGUAGES
from hatscore.cli import main
from hatscore.cli.study_file import read_study_file
from hatscore.errors import InputError
from hatscore.sampling.run import Run

ITEMS = 40
ASKED = re.compile(r"Sum (\d+) in (\w+)")


@pytest.fixture
def study(capsys):
    """Run `hatscore study` as from a shell."""

    def call(*arguments, command="study"):
        with pytest.raises(SystemExit) as end:
            main([command, *map(str, arguments)])
        printed = capsys.readouterr()
        return SimpleNamespace(
            code=end.value.code, out=" ".join(printed.out.split()), err=printed.err, raw=printed.out
        )

    return call


@pytest.fixture
def sums(tmp_path):
    """Write a table of questions whose answers a server can know."""
    lines = ["item,language,question,answer"]
    lines += [f"{i},{x},Sum {i} in {x}?,{i}" for i in range(ITEMS) for x in ("en", "de", "sw")]
    path = tmp_path / "sums.csv"
    path.write_text("\n".join(lines), encoding="utf-8")
    return path


def ability(prompt):
    name, language = ASKED.search(prompt).groups()
    return {"en": 1.0, "de": 0.9, "sw": 0.4}[language] * (int(name) % 5) / 4


@pytest.fixture
def server(model_server):
    def start(*models):
        return model_server(
            models=models,
            probability=ability,
            right=lambda p: ASKED.search(p)[1],
            wrong=lambda _: "1000000",
        )

    return start


@pytest.fixture
def write(tmp_path):
    def write_it(text, name="study.toml"):
        path = tmp_path / name
        path.write_text(text, encoding="utf-8")
        return path

    return write_it


def two_models(sums, one, two, *, shared="", more=""):
    return f"""
[study]
models = ["openai-api/one", "openai-api/two"]
repeats = 4
tries = 1
{shared}
[[benchmark]]
name = "custom"
options = {{ data = "{sums}" }}
[[model]]
name = "openai-api/one"
base_url = "{one}"
[[model]]
name = "openai-api/two"
base_url = "{two}"
{more}"""


WHOLE = ITEMS * 3 * 4
"""Replies of one model."""


def closed_port():
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        return f"http://127.0.0.1:{free.getsockname()[1]}/v1"


def asked_models(server):
    return {r.body["model"] for r in server.requests}


# -- the models of the user ----------------------------------------------------------------------


def test_models_of_the_user_are_asked_for_as_he_says(study, write, model_server):
    server = model_server(models=("acme",))
    path = write(
        '[study]\nmodels = ["gemma-3-4b-it", "paper/acme-7b"]\nrepeats = 1\nitems = 2\n'
        f'languages = ["de"]\nbase_url = "{server.url}"\n[[benchmark]]\nname = "worldfacts"\n'
    )
    mine = write(
        '[[model]]\nname = "gemma-3-4b-it"\nserver = { name = "acme" }\n'
        '[[model]]\nname = "acme-7b"\nserver = { name = "acme" }\n'
        "price = { input = 1, output = 2 }\n",
        "my.toml",
    )
    planned = study(path, "--models", mine, "--dry-run")
    assert planned.code == 0
    assert "paper/acme-7b on worldfacts: 0 of 4 replies are there" in planned.out
    sampled = study(path, "--models", mine, "-q", "--ask", "variance")
    assert "2 models (2 in the registry)" in sampled.out, sampled
    assert asked_models(server) == {"acme"}
    assert "paper/acme-7b" in study(path, "--dry-run").out  # and without the file:
    assert "unknown model 'acme-7b'" in study(path, "--dry-run").out


# -- fields --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("study_line", "more", "message"),
    [
        ('repeats = "4"', "", r'\[study\]: field repeats: got the text "4", expected a whole'),
        ("repeats = 0", "", "field repeats: got 0, expected a whole number of at least 1"),
        ("repeats = true", "", "field repeats: got true"),
        ("items = 2.0", "", "field items: got 2.0"),
        ('temperature = "hot"', "", 'field temperature: got the text "hot", expected a number'),
        ("temperature = -1", "", "field temperature: got -1"),
        ("top_p = 0", "", "field top_p: got 0, expected a number above 0"),
        ("timeout_s = inf", "", "field timeout_s: got inf"),
        ("keep = 2", "", "field keep: got 2, expected a share above 0 and at most 1"),
        ("seed = 1.5", "", "field seed: got 1.5, expected a whole number"),
        ('mode = "talk"', "", "field mode: got the text"),
        ('plan = "width=2"', "", "field plan: got the text"),
        ("base_url = 8000", "", "field base_url: got 8000, expected the address of a server"),
        ('batch = "no"', "", "expected true or false"),
        ("judge = []", "", r"field judge: got the list \[\], expected a name or a list"),
        ("languages = 'de'", "", "field languages: got the text"),
        ('languages = ["de", "de"]', "", "a list of different language tags"),
        ("", "items = 0", r"\[\[benchmark\]\] worldfacts: field items: got 0"),
        ("", "options = { kind = [1] }", "field options: got a table, expected a table of texts"),
        ("", "temperature = 1", r"field of \[\[benchmark\]\] 'temperature'"),
        ("", '[[model]]\nname = "a"\nextra = { day = 2026-01-01 }', "as JSON can say them"),
        ("", '[[model]]\nname = "a"\nprice_in = 1', "give both price_in and price_out"),
        ("", '[[model]]\nname = "a"\n[[model]]\nname = "a"', "two .*put both into one"),
        ("", '[model]\nname = "a"', r"write \[\[model\]\], in double brackets"),
    ],
)
def test_values_of_the_wrong_kind_are_refused(write, study_line, more, message):
    path = write(
        f'[study]\nmodels = ["a"]\n{study_line}\n[[benchmark]]\nname = "worldfacts"\n{more}\n'
    )
    with pytest.raises(InputError, match=message) as caught:
        read_study_file(path)
    assert str(path) in str(caught.value)


@pytest.mark.parametrize(
    ("models", "message"),
    [
        ('"paper/gemma-3-4b-it"', "field models: got the text"),
        ('["a", "a"]', "expected a list of different names"),
        ("[1]", "field models: got the list"),
        ('["a b", "a-b"]', "a b on worldfacts and a-b on worldfacts, and both would be the run"),
    ],
)
def test_models_are_named_once_each(write, models, message):
    path = write(f'[study]\nmodels = {models}\n[[benchmark]]\nname = "worldfacts"\n')
    with pytest.raises(InputError, match=message):
        read_study_file(path)


def test_benchmarks_that_would_share_a_directory_are_refused(write):
    text = '[study]\nmodels = ["a"]\n[[benchmark]]\nname = "wordmath"\n[[benchmark]]\n'
    with pytest.raises(InputError, match="a on wordmath stands there twice"):
        read_study_file(write(text + 'name = "wordmath"\nitems = 5\n'))
    cells = read_study_file(write(text + 'name = "wordmath"\noptions = { difficulty = 2 }\n')).cells
    assert [dict(c.request.options) for c in cells] == [{}, {"difficulty": "2"}]


def test_what_is_particular_goes_before_what_is_shared(write):
    path = write(
        '[study]\nmodels = ["a", "b"]\ntemperature = 1.0\nplan = "efficient"\njudge = "j"\n'
        'base_url = "http://all"\n[[benchmark]]\nname = "x"\nplan = "paper"\n'
        '[[benchmark]]\nname = "y"\njudge = ["k", "l"]\njudge_url = "http://judges"\n'
        '[[model]]\nname = "b"\ntemperature = 0\nbase_url = "http://b"\n'
    )
    ax, bx, _, by = (c.request for c in read_study_file(path).cells)
    assert (ax.plan.kind, ax.params.temperature, ax.base_url) == ("paper", 1.0, "http://all")
    assert (bx.params.temperature, bx.base_url) == (0, "http://b")
    # a model is never asked to judge at its own server
    assert (bx.judges, bx.judge_url) == (("j",), "http://all")
    assert (by.plan.kind, by.judges, by.judge_url) == ("efficient", ("k", "l"), "http://judges")


# -- before the first request --------------------------------------------------------------------


def test_nothing_is_asked_where_a_cell_cannot_be_sampled(study, write, sums, server, tmp_path):
    known = server("one")
    path = write(
        two_models(sums, known.url, known.url).replace('"openai-api/two"', '"paper/gemma-3-4b"')
    )
    done = study(path, "-q")
    assert done.code == 2
    assert "nothing was sampled, because some cells cannot be" in done.err
    assert "paper/gemma-3-4b on custom (data sums.csv): unknown model" in done.err
    assert "did you mean gemma-3-4b-it" in done.err
    assert known.requests == []
    assert not (tmp_path / "runs").exists()
    planned = study(path, "--dry-run")
    assert planned.code == 2
    assert "1 of 2 cells cannot be planned" in planned.out
    assert f"Missing: {WHOLE} replies in 1 cells." in planned.out


def test_a_missing_key_is_found_before_the_others_are_sampled(
    study, write, sums, server, monkeypatch
):
    monkeypatch.delenv("ANTHROPIC_API_KEY", raising=False)
    known = server("one")
    path = write(
        f'[study]\nmodels = ["openai-api/one", "anthropic/a", "anthropic/b"]\nrepeats = 2\n'
        f'[[benchmark]]\nname = "custom"\noptions = {{ data = "{sums}" }}\n'
        f'[[model]]\nname = "openai-api/one"\nbase_url = "{known.url}"\n'
    )
    done = study(path, "-q")
    assert done.code == 2
    assert "anthropic/a, anthropic/b on custom (data sums.csv) (2 cells): " in done.err
    assert "ANTHROPIC_API_KEY" in done.err
    assert known.requests == []
    planned = study(path, "--dry-run")
    assert planned.code == 2
    assert "2 of 3 cells cannot be sampled as they stand" in planned.out
    assert f"Missing: {3 * ITEMS * 3 * 2} replies in 3 cells." in planned.out


def test_a_run_that_asks_otherwise_is_found_before_the_others_are_sampled(
    study, write, sums, server
):
    known = server("one", "two")
    path = write(two_models(sums, known.url, known.url, more="temperature = 0.5"))
    study(path, "-q", "--max-replies", WHOLE + 4)
    asked = len(known.requests)
    write(two_models(sums, known.url, known.url, more="temperature = 0.7"))
    done = study(path, "-q")
    assert done.code == 2
    assert "params.temperature: stored 0.5, asked 0.7" in done.err
    assert len(known.requests) == asked


def test_one_problem_of_many_cells_is_one_line(study, write):
    models = [f"paper/gemma-3-{size}-it" for size in ("1b", "4b", "12b", "27b")]
    path = write(
        f"[study]\nmodels = {json.dumps([*models, 'paper/gemini-2.5-flash'])}\n"
        '[[benchmark]]\nname = "eclektic"\n[[benchmark]]\nname = "worldfacts"\nitems = 4\n'
    )
    done = study(path, "--dry-run")
    assert done.code == 2
    (line,) = [line for line in done.raw.splitlines() if "eclektic needs" in line]
    assert "gemma-3-12b-it and 2 more on eclektic (5 cells)" in line
    assert line.endswith(' In a study file: options = { data = "PATH" } in its [[benchmark]]')
    assert "gemini-2.5-flash at Vertex AI was retired on 2026-10-16" in done.err
    assert done.err.count("Vertex AI") == 1
    assert study(path).code == 2


def test_a_model_without_an_address_is_counted_and_told(study, write):
    path = write(
        '[study]\nmodels = ["openai-api/one"]\nitems = 4\nlanguages = ["de"]\n'
        '[[benchmark]]\nname = "worldfacts"\n'
    )
    done = study(path, "--dry-run")
    assert done.code == 2
    assert "0 of 80 replies are there, 80 missing" in done.out
    assert "1 of 1 cells cannot be sampled as they stand" in done.out
    assert "base_url = " in done.out


# -- sampling ------------------------------------------------------------------------------------


def test_a_dead_server_stops_no_other_model(study, write, sums, server):
    alive = server("two")
    path = write(two_models(sums, closed_port(), alive.url))
    done = study(path, "-q", "--ask", "variance")
    assert done.code == 1
    assert "1 model (0 in the registry)" in done.out
    assert "1 of 2 cells failed; the same command asks again:" in done.err
    assert "openai-api/one on custom (data sums.csv): " in done.err.split("cells failed")[1]
    back = server("one")
    write(two_models(sums, back.url, alive.url))
    asked = len(alive.requests)
    done = study(path, "-q", "--ask", "variance")
    assert (done.code, "2 models" in done.out) == (0, True)
    assert len(alive.requests) == asked


def test_a_study_of_dead_servers_says_that_there_is_nothing_yet(study, write, sums):
    done = study(write(two_models(sums, closed_port(), closed_port())), "-q")
    assert done.code == 1
    assert "2 of 2 cells failed" in done.err
    assert "Nothing is sampled yet, so there is nothing to analyse." in done.err


def test_replies_are_limited_over_all_cells_and_starts(study, write, sums, server):
    known = server("one", "two")
    path = write(two_models(sums, known.url, known.url))
    first = study(path, "-q", "--max-replies", WHOLE + 8)
    assert first.code == 1
    assert f"Stopped at a limit of the study: {WHOLE + 8} of {WHOLE + 8} replies" in first.err
    assert there(path) == [WHOLE, 8]
    again = study(path, "-q", "--max-replies", WHOLE + 8)
    assert again.code == 1
    assert there(path) == [WHOLE, 8]
    assert study(path, "-q").code == 0
    assert there(path) == [WHOLE, WHOLE]
    # what is there already needs no limit raised
    assert study(path, "-q", "--max-replies", WHOLE).code == 0


def there(path):
    found = []
    for cell in read_study_file(path).cells:
        with Run.open(cell.directory) as run:
            found.append(run.store.usage().replies)
    return found


def test_tokens_and_money_are_limited_too(study, write, sums, server):
    known = server("one", "two")
    text = two_models(sums, known.url, known.url)
    path = write(text)
    unknown = study(path, "-q", "--max-cost", 1)
    assert unknown.code == 2
    assert "no price is known of openai-api/one, openai-api/two" in unknown.err
    assert known.requests == []
    prices = "price_in = 0\nprice_out = 500000\n"
    path = write(text.replace("base_url", f"{prices}base_url"))
    stopped = study(path, "-q", "--max-cost", 200)
    assert stopped.code == 1
    assert "of 200 USD" in stopped.err
    tokens = []
    for cell in read_study_file(path).cells[:1]:
        with Run.open(cell.directory) as run:
            tokens.append(run.store.usage().output_tokens)
    assert 180 <= sum(tokens) * 0.5 <= 220
    assert study(path, "-q", "--max-total-tokens", 1).code == 1


def test_limits_are_for_study_files(study, sums):
    done = study(sums, "--max-cost", 3)
    assert done.code == 2
    assert "--max-cost is for a study file" in done.err


def test_a_finished_plan_lacks_nothing(study, write, sums, server):
    known = server("one", "two")
    path = write(two_models(sums, known.url, known.url, shared='plan = "efficient"'))
    before = study(path, "--dry-run")
    assert f"0 of at most {WHOLE} replies are there, at most {WHOLE} missing" in before.out
    assert f"Missing: at most {2 * WHOLE} replies in 2 cells" in before.out
    assert study(path, "-q", "--ask", "variance").code == 0
    sampled = there(path)
    assert max(sampled) < WHOLE
    after = study(path, "--dry-run")
    for n in sampled:
        assert f"{n} of {n} replies are there, 0 missing" in after.out
    assert "Missing: 0 replies in 0 cells." in after.out


# -- judges, notes and alarms --------------------------------------------------------------------


@pytest.fixture
def questions(tmp_path):
    lines = []
    for name in range(6):
        record = {"q_id": name, "original_lang": "en"}
        for tag in LANGUAGES:
            record |= {f"{tag}_c": "Text", f"{tag}_q": f"Question {name} {tag}?", f"{tag}_a": "A"}
        lines.append(json.dumps(record))
    path = tmp_path / "e.jsonl"
    path.write_text("\n".join(lines), "utf-8")
    return path


def judged(questions, model, judge=""):
    return f"""
[study]
models = ["openai-api/one"]
repeats = 2
languages = ["fr", "de"]
base_url = "{model}"
{judge}
[[benchmark]]
name = "eclektic"
options = {{ data = "{questions}" }}
[[benchmark]]
name = "worldfacts"
items = 3
"""


def test_judges_hear_what_a_judge_grades_and_the_alarm_says_what_nobody_has(
    study, write, questions, model_server
):
    model = model_server(models=("one",), probability=lambda _: 1.0, right=lambda p: f"right {p}")
    judge = model_server(models=("judge",), probability=lambda _: 1.0, right=lambda _: "YES")
    path = write(judged(questions, model.url))
    silent = study(path, "-q", "--ask", "variance")
    assert "a judge grades its answers and the study file names none" in silent.err
    assert "! openai-api/one on eclektic" in silent.out
    assert "judge_unparsed" in silent.out
    named = f'judge = "openai-api/judge"\njudge_url = "{judge.url}"'
    write(judged(questions, model.url, named))
    heard = study(path, "--ask", "variance", "--format", "json")
    assert heard.code == 0, heard.err
    assert "openai-api/judge has judged" in heard.err
    assert "names none" not in heard.err
    assert judge.requests
    document = json.loads(heard.raw)
    assert set(document["benchmarks"]) == {"eclektic(data=e.jsonl)", "worldfacts"}
    assert any("judged by openai-api/judge" in note for note in document["notes"])
    assert not any("eclektic" in alarm for alarm in document["alarms"])


def test_a_judge_of_a_benchmark_that_needs_none_is_refused(study, write, server):
    known = server("one")
    path = write(
        f'[study]\nmodels = ["openai-api/one"]\nbase_url = "{known.url}"\n'
        '[[benchmark]]\nname = "worldfacts"\njudge = "openai-api/judge"\n'
    )
    done = study(path)
    assert done.code == 2
    assert "no item of worldfacts is graded by a judge" in done.err
    assert known.requests == []


def test_an_incomplete_run_is_noted(study, write, sums, server):
    known = server("one", "two")
    path = write(two_models(sums, known.url, known.url))
    study(path, "-q", "--max-replies", 2 * WHOLE - 10)
    said = json.loads(study(path.parent / "runs", "--ask", "variance", "--format", "json").raw)
    assert any("openai-api/two: the run is incomplete" in note for note in said["notes"])
    assert "Note: openai-api/two: the run is incomplete" in study(path.parent / "runs").out


# -- words ---------------------------------------------------------------------------------------


def test_a_cutoff_without_the_analysis_of_time_is_refused(study, sums):
    done = study(sums, "--ask", "size", "--cutoff", "2026-01-01")
    assert done.code == 2
    assert "--cutoff is for the analysis time" in done.err


def test_a_folder_of_runs_is_its_runs(study, write, sums, server, tmp_path):
    known = server("one", "two")
    path = write(two_models(sums, known.url, known.url))
    study(path, "-q", "--ask", "variance")
    folder = tmp_path / "runs"
    runs = sorted(p for p in folder.iterdir())
    for words in (("--ask", "variance"), ("--ask", "variance", "--format", "json")):
        assert study(folder, *words).raw == study(*runs, *words).raw
    scored = study(folder, "--format", "csv", command="score")
    assert scored.raw == study(*runs, "--format", "csv", command="score").raw
    (folder / "report").mkdir()
    (folder / "sampling.log").write_text("x", encoding="utf-8")
    assert study(folder, command="score").code == 0
    (folder / "old.csv").write_text("x", encoding="utf-8")
    beside = study(folder, command="score")
    assert beside.code == 2
    assert "beside the runs in it lies old.csv, which may be results too" in beside.err
