"""What a command asks for: where it goes by default, and options that would change nothing."""

from __future__ import annotations

import re

import pytest

from hatscore.cli import main
from hatscore.cli.request import default_directory


def test_models_whose_names_differ_by_a_slash_have_two_directories(tmp_path):
    def name(model, **options):
        return default_directory(model, ["wordmath"], options, root=tmp_path).name

    assert name("mockllm/a-b") == "mockllm-a-b_wordmath"
    assert name("mockllm/a-b", kind="x+y") == "mockllm-a-b_wordmath_kind-x-y"
    assert name("local") == "local_wordmath"
    assert re.fullmatch(r"mockllm-a-b-[0-9a-f]{6}_wordmath", name("mockllm/a/b"))
    assert name("mockllm/a/b") == name("mockllm/a/b") != name("mockllm/a/b/")
    # a run that lies under the bare name already goes on there
    (tmp_path / "mockllm-a-b_wordmath").mkdir()
    config = tmp_path / "mockllm-a-b_wordmath" / "run.json"
    for text, is_bare in (
        ('{"model": "mockllm/a/b"}', True),
        ('{"model": "mockllm/a-b"}', False),
        ("[]", False),
        ("{", False),
    ):
        config.write_text(text, encoding="utf-8")
        assert (name("mockllm/a/b") == "mockllm-a-b_wordmath") is is_bare


@pytest.mark.parametrize("keep", ["0.5", "0.15"])
def test_a_share_to_keep_is_refused_where_the_plan_leaves_nothing_out(keep, capsys):
    with pytest.raises(SystemExit) as end:
        main(["run", "openai-api/x", "-b", "wordmath", "--plan", "paper", "--keep", keep])
    assert end.value.code == 2
    said = " ".join(capsys.readouterr().err.split())
    assert f"--keep {keep}: the plan paper leaves no prompts out" in said
