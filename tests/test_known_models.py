"""`hatscore run paper/NAME`: the registry's parameters reach the server and the run's identity."""

from __future__ import annotations

import json


def test_registered_model_is_asked_for_by_its_id_and_keeps_its_name(
    model_server, tmp_path, hatscore
):
    from hatscore.models import resolve

    known = resolve("paper/gemma-3-4b-it", server=True)
    served = known.spec.removeprefix("openai-api/")
    server = model_server(models=(served,))
    arguments = ["run", "paper/gemma-3-4b-it", "-b", "wordmath", "-l", "de", "--items", 2]
    arguments += ["--repeats", 3, "--base-url", server.url, "-o", tmp_path / "run", "-q"]
    code, out, err = hatscore(*arguments)
    assert code == 0, err
    assert "paper/gemma-3-4b-it on wordmath" in out
    config = json.loads((tmp_path / "run" / "run.json").read_text(encoding="utf-8"))
    assert config["model"] == "paper/gemma-3-4b-it"
    assert config["served_model"] == served
    asked = [r.body for r in server.requests if "completions" in r.path]
    assert {body["model"] for body in asked} == {served}
    for name, value in known.parameters.items():
        assert all(body[name] == value for body in asked)


def test_unknown_registered_name_names_the_nearest(tmp_path, hatscore):
    code, _, err = hatscore(
        "run", "paper/gemma-3-4b", "-b", "wordmath", "-l", "de", "-o", tmp_path / "run"
    )
    assert code == 2
    assert "gemma-3-4b-it" in err


def test_own_models_file_adds_a_name(model_server, tmp_path, hatscore):
    server = model_server()
    mine = tmp_path / "mine.toml"
    mine.write_text("[[model]]\nid = 'my-model'\nno_such_field = 1\n", encoding="utf-8")
    arguments = ["run", "openai-api/test-model", "-b", "wordmath", "-l", "de", "--items", 2]
    arguments += ["--base-url", server.url, "-o", tmp_path / "run", "-q", "--models", mine]
    code, _, err = hatscore(*arguments)
    assert code == 2
    assert "mine.toml" in err
