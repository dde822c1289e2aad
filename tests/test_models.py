"""The registry: what is shipped, what users add, and names into requests."""

import datetime as dt
import json
import tomllib
from pathlib import Path

import pytest
from click.testing import CliRunner

from hatscore.cli.models import command
from hatscore.errors import InputError, ReaderError, UnknownNameError
from hatscore.models import load_models, resolve

FACTS = Path(__file__).parents[1] / ".." / "shared" / "model_facts.toml"
DAY = dt.date(2026, 11, 30)


@pytest.fixture(scope="module")
def registry():
    return load_models()


@pytest.fixture
def own(tmp_path):
    def write(text):
        path = tmp_path / "my.toml"
        path.write_text(text, encoding="utf-8")
        return path

    return write


def test_the_papers_twenty_configurations_are_there(registry):
    names = [m.paper_name for m in registry.models.values() if m.paper_name]
    assert len(names) == len(set(names)) == 20


def test_shipped_facts_agree_with_their_source(registry):
    if not FACTS.is_file():
        pytest.skip("needs ../shared/model_facts.toml")
    for fact in tomllib.loads(FACTS.read_text(encoding="utf-8"))["model"]:
        m = registry.get(fact["id"])
        assert m.released == dt.date.fromisoformat(fact["release_date"])
        assert m.parameters_total == fact.get("params_total_b")
        assert m.parameters_active == fact.get("params_active_b")
        assert list(m.ids) == fact["api_ids"]
        assert m.inspect == {
            "model": fact["inspect_model"],
            **({"config": fact["inspect_config"]} if fact["inspect_config"] else {}),
        }
        assert m.price.get("input") == fact.get("price_in")
        assert m.price.get("output") == fact.get("price_out")


def test_closed_models_have_no_size(registry):
    for m in registry.models.values():
        assert (m.parameters_total is None) == (not m.open_weights)


def test_the_papers_unknown_settings_are_unsure(registry):
    for name in ("claude-opus-4-7", "gemma-4-31b-it", "qwen3-4b", "gpt-oss-20b"):
        assert not registry.get(name).is_sure("thinking")
    assert registry.get("gemini-2.5-flash-off").is_sure("thinking")


def test_paper_names_resolve_for_a_server(registry):
    found = resolve("paper/gemma-4-31b-it", server=True, registry=registry)
    assert found.spec == "openai-api/google/gemma-4-31B-it"
    assert found.parameters["chat_template_kwargs"] == {"enable_thinking": False}


def test_thinking_settings_are_provider_parameters(registry):
    off = resolve("paper/gemini-2.5-flash-off", registry=registry)
    on = resolve("paper/gemini-2.5-flash", registry=registry)
    assert off.spec == on.spec == "google/gemini-2.5-flash"
    assert (off.parameters, on.parameters) == ({"reasoning_tokens": 0}, {})


def test_refused_parameters_are_named(registry):
    assert resolve("paper/claude-opus-4-7", registry=registry).refused == ("temperature", "top_p")
    assert resolve("paper/qwen3-4b", registry=registry).refused == ()


def test_retired_ids_are_flagged_as_of_the_day(registry):
    before = resolve("paper/gemini-2.5-flash", registry=registry, today=DAY).warnings
    assert "gemini-2.5-flash at Vertex AI was retired on 2026-10-16" in before
    assert any(w.startswith("gemini-2.5-flash at Gemini API will be retired") for w in before)
    after = resolve("paper/gemini-2.5-flash", registry=registry, today=dt.date(2026, 12, 1))
    assert any("Gemini API was retired" in w and "3.5" in w for w in after.warnings)


def test_other_models_pass_through_and_unknown_paper_names_do_not(registry):
    assert resolve("openai-api/whatever", registry=registry) is None
    assert resolve("local", registry=registry) is None
    with pytest.raises(UnknownNameError, match="did you mean gemma-3-4b-it"):
        resolve("paper/gemma-3-4b", registry=registry)


def test_closed_model_at_a_server_says_what_to_do(registry):
    with pytest.raises(InputError, match="--models can say server"):
        resolve("paper/claude-opus-4-7", server=True, registry=registry)


def test_a_server_at_hand_is_used_for_the_models_it_may_have(registry):
    names = {"paper/qwen3-4b": "openai-api/", "paper/claude-opus-4-7": "anthropic/"}
    for name, way in names.items():
        assert resolve(name, server=None, registry=registry).spec.startswith(way)


def test_local_name_is_found(registry):
    assert registry.find("local").name == "gemma-3-270m"
    assert resolve("gemma-3-270m", registry=registry).spec == "local"


@pytest.mark.parametrize(
    ("name", "found"),
    [
        ("paper/gemma-3-4b-it", "gemma-3-4b-it"),
        ("openai-api/google/gemma-3-4b-it", "gemma-3-4b-it"),
        ("vllm/Qwen/Qwen3-4B", "qwen3-4b"),
        ("gemini-2.5-flash-off", "gemini-2.5-flash-off"),
    ],
)
def test_names_of_runs_are_found(registry, name, found):
    assert registry.find(name).name == found


@pytest.mark.parametrize("name", ["gemma-3-4b", "my-4b-model", "openai-api/llama-70b", ""])
def test_nothing_is_guessed_from_a_name(registry, name):
    assert registry.find(name) is None


def test_an_id_of_several_settings_leaves_the_setting_unknown(registry):
    found = registry.find("google/gemini-2.5-flash")
    assert (found.name, found.thinking) == ("gemini-2.5-flash", "unknown")


def test_users_add_and_override(own):
    path = own(
        '[[model]]\nname = "acme-7b"\nparameters_total = 7\nserver = { name = "acme" }\n'
        '[[model]]\nname = "gemma-3-1b-it"\nlanguages = "English"\n'
    )
    registry = load_models([path])
    acme, gemma = registry.get("acme-7b"), registry.get("gemma-3-1b-it")
    assert (acme.parameters_total, acme.parameters_active, acme.released) == (7.0, None, None)
    assert resolve("acme-7b", server=True, registry=registry).spec == "openai-api/acme"
    assert gemma.parameters_total == 1.0
    assert gemma.is_sure("languages")
    assert not gemma.is_sure("recommended")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ('[[model]]\nfamily = "x"\n', "has no name"),
        ('[[model]]\nname = "a"\nsize = 7\n', "unknown field of model 'a' 'size'"),
        ('[[model]]\nname = "a"\nparameters_total = "7B"\n', "'7B' does not fit"),
        ('[[model]]\nname = "a"\nparameters_total = -1\n', "above 0"),
        ('[[model]]\nname = "a"\nparameters_total = true\n', "above 0"),
        ('[[model]]\nname = "a"\nreleased = "spring"\n', "released"),
        ('[[model]]\nname = "a"\nvariant_of = "b"\n', "a setting of 'b'"),
        ('[[model]]\nname = "a"\nunsure = ["price_in"]\n', "names no field: 'price_in'"),
        ('[[model]]\nname = "a"\nids = "a"\n', "list of texts"),
        ('[[model]]\nname = "a"\nretired = [{ id = "a" }]\n', "retired"),
        ('[[model]]\nname = "a"\nprice = { in = 1, out = 2 }\n', "did you mean input"),
        ('[[model]]\nname = "a"\nprice = { input = 1 }\n', "both input and output"),
        (
            '[[model]]\nname = "a"\nprice = { input = "1", output = 2 }\n',
            "input in USD per million",
        ),
        (
            '[[model]]\nname = "a"\nprice = { input = 1, output = -2 }\n',
            "output in USD per million",
        ),
        (
            '[[model]]\nname = "a"\nprice = { input = 1, output = 2, batch_discount = 50 }\n',
            "a share from 0 to 1",
        ),
        ('[[models]]\nname = "a"\n', "expected \\[\\[model\\]\\] tables, found models"),
        ("name = [", "no TOML"),
    ],
)
def test_wrong_files_are_refused_with_their_fault(own, text, message):
    with pytest.raises(InputError, match=message):
        load_models([own(text)])


def test_a_missing_file_is_named(tmp_path):
    with pytest.raises(ReaderError, match=r"none\.toml: no readable file"):
        load_models([tmp_path / "none.toml"])


def test_command_lists_every_model_in_80_columns():
    done = CliRunner().invoke(command, [])
    assert done.exit_code == 0
    assert max(map(len, done.output.splitlines()[:24])) <= 80
    assert "gemma-3-4b-it" in done.output
    assert "off?" in done.output


def test_command_says_what_is_unsure_and_retired():
    out = CliRunner().invoke(command, ["gemini-2.5-flash"]).output
    assert "licence: proprietary: Google's terms of the Gemini API and Google Cloud (unsure)" in out
    assert (
        "accepts: temperature yes, top_p yes, top_k no, n up to 8 (candidateCount) (unsure: n)"
        in out
    )
    assert "! gemini-2.5-flash at Vertex AI was retired on 2026-10-16 (unsure)" in out
    assert "parameters" not in out


def test_command_knows_a_model_by_the_id_of_a_server():
    out = CliRunner().invoke(command, ["google/gemma-3-4b-it"]).output
    assert out.startswith("gemma-3-4b-it\n")


def test_command_shows_every_setting_behind_an_id():
    out = CliRunner().invoke(command, ["google/gemini-2.5-flash", "gemini-2.5-flash"]).output
    assert [line for line in out.splitlines() if line[:1].strip()] == [
        "gemini-2.5-flash",
        "gemini-2.5-flash-off",
    ]


def test_a_free_model_has_a_price(own):
    path = own('[[model]]\nname = "acme-7b"\nprice = { input = 0, output = 0 }\n')
    out = CliRunner().invoke(command, ["acme-7b", "--models", str(path)]).output
    assert "price: input 0, output 0" in out


def test_command_prints_json(own):
    path = own('[[model]]\nname = "acme-7b"\nparameters_total = 7\n')
    done = CliRunner().invoke(command, ["acme-7b", "--models", str(path), "--format", "json"])
    (entry,) = json.loads(done.output)
    assert (entry["parameters_total"], entry["parameters_active"]) == (7.0, None)
