"""Run directories of HELM: small ones in its layout, and broken ones."""

from __future__ import annotations

import json

import pytest

from hatscore.errors import AlignmentError, InputError, ReaderError
from hatscore.readers import helm

FAIR = {"name": "dialect", "robustness": False, "fairness": True}


def stat(name, value, *, count=1, perturbation=None):
    label = {"name": name, "split": "test"} | (
        {"perturbation": perturbation} if perturbation else {}
    )
    total = value * count
    return {"name": label, "count": count, "sum": total, "mean": value, "min": value, "max": value}


def entry(instance, stats, *, trial=0, perturbation=None):
    row = {"instance_id": instance, "train_trial_index": trial, "stats": stats}
    return row | ({"perturbation": perturbation} if perturbation else {})


def references(right, texts=("a", "b", "c", "d")):
    return [
        {"output": {"text": text}, "tags": ["correct"] if i == right else []}
        for i, text in enumerate(texts)
    ]


def write_run(folder, name, right, *, model="org/tiny", golds=(0, 1, 2), trials=(0,), extra=None):
    """Write a run whose instances were answered as `right` says, with perturbed rows beside."""
    path = folder / name.replace("/", "_")
    path.mkdir(parents=True)
    args = dict(part.split("=") for part in name.partition(":")[2].split(",") if "=" in part)
    args.pop("model", None)
    spec = {
        "name": name,
        "scenario_spec": {"class_name": "helm.scenario", "args": args},
        "adapter_spec": {"method": "multiple_choice_joint", "model": model},
    }
    stats, instances = [], []
    for i, value in enumerate(right):
        key = f"id{10 + i}"
        for trial in trials:
            scores = [stat("exact_match", value), stat("quasi_exact_match", value)]
            stats.append(entry(key, scores, trial=trial))
            stats.append(entry(key, [stat("num_prompt_tokens", 77.0)], trial=trial))
            worse = [stat("exact_match", 0.0, perturbation=FAIR)]
            stats.append(entry(key, worse, trial=trial, perturbation=FAIR))
        instance = {
            "id": key,
            "input": {"text": f"{name.partition(',model')[0]} {i}"},
            "references": references(golds[i]),
            "split": "test",
        }
        if extra:
            instance["extra_data"] = extra(i)
        instances += [instance, {**instance, "perturbation": FAIR}]
    for file, content in (
        ("run_spec.json", spec),
        ("per_instance_stats.json", stats),
        ("instances.json", instances),
    ):
        (path / file).write_text(json.dumps(content), encoding="utf-8")
    return path


@pytest.fixture
def suite(tmp_path):
    for subject in ("law", "math"):
        write_run(tmp_path, f"gmmlu:language=English,subject={subject},model=org_tiny", [1, 0, 1])
        write_run(tmp_path, f"gmmlu:language=sw,subject={subject},model=org_tiny", [1, 1, 0])
    return tmp_path


def cells(outcomes):
    rows = outcomes.frame.iter_rows(named=True)
    return {(r["item"], r["language"]): (r["k"], r["n"]) for r in rows}


def change(path, file, edit):
    content = json.loads((path / file).read_text(encoding="utf-8"))
    edit(content)
    (path / file).write_text(json.dumps(content), encoding="utf-8")


def run_of(suite, part):
    return next(one for one in suite.iterdir() if part in one.name)


def test_a_suite_with_subjects(suite):
    assert helm.sniff(suite)
    outcomes = helm.read(suite, metric="exact_match")
    assert set(outcomes.frame["benchmark"]) == {"gmmlu"}
    assert set(outcomes.frame["model"]) == {"org/tiny"}
    assert cells(outcomes) == {
        (f"subject={subject}/id{10 + i}", language): (right[i], 1)
        for subject in ("law", "math")
        for language, right in (("en", [1, 0, 1]), ("sw", [1, 1, 0]))
        for i in range(3)
    }
    assert "12 perturbed rows are left out" in "\n".join(outcomes.notes)
    assert "score exact_match" in "\n".join(outcomes.notes)


def test_several_statistics_are_listed(suite):
    with pytest.raises(
        InputError, match=r"exact_match \(12 rows, 0 or 1.*quasi_exact_match"
    ) as got:
        helm.read(suite)
    assert "num_prompt_tokens" not in str(got.value)
    with pytest.raises(ReaderError, match="instance id10, trial 0: num_prompt_tokens is 77"):
        helm.read(suite, metric="num_prompt_tokens")


def test_languages_in_names_and_by_pattern(tmp_path):
    write_run(tmp_path, "mgsm_en:model=org_tiny", [1, 0, 1])
    write_run(tmp_path, "mgsm_de:model=org_tiny", [1, 0, 0])
    outcomes = helm.read(tmp_path, metric="exact_match")
    assert set(outcomes.frame["language"]) == {"de", "en"}
    by_pattern = helm.read(tmp_path, metric="exact_match", map=r"mgsm_(?P<language>\w\w)")
    assert by_pattern.frame.equals(outcomes.frame)
    mapped = helm.read(tmp_path, metric="exact_match", map={"language": r"re:mgsm_(\w\w)"})
    assert mapped.frame.equals(outcomes.frame)
    with pytest.raises(InputError, match="unknown field of map 'languages'"):
        helm.read(tmp_path, metric="exact_match", map={"languages": "x"})


def test_a_run_with_all_languages_needs_fields(tmp_path):
    def extra(i):
        return {"lang": "en" if i < 2 else "de", "q": i % 2}

    write_run(tmp_path, "qa:model=org_tiny", [1, 0, 1, 1], golds=(0, 1, 0, 1), extra=extra)
    with pytest.raises(ReaderError, match=r"does not say its language.*map=extra_data\.FIELD"):
        helm.read(tmp_path, metric="exact_match")
    outcomes = helm.read(tmp_path, metric="exact_match", map="extra_data.lang", item="extra_data.q")
    assert cells(outcomes) == {
        ("0", "en"): (1, 1),
        ("1", "en"): (0, 1),
        ("0", "de"): (1, 1),
        ("1", "de"): (1, 1),
    }
    with pytest.raises(ReaderError, match=r"extra_data has no 'language'.*it has lang, q"):
        helm.read(tmp_path, metric="exact_match", map="extra_data.language")


def test_trials_are_pooled_only_on_request(tmp_path):
    for language in ("en", "de"):
        write_run(tmp_path, f"qa:lang={language},model=org_tiny", [1, 0, 1], trials=(0, 1, 2))
    with pytest.raises(InputError, match=r"has 3 trials \(0, 1, 2\)"):
        helm.read(tmp_path, metric="exact_match")
    assert set(helm.read(tmp_path, metric="exact_match", run="1").frame["n"]) == {1}
    assert set(helm.read(tmp_path, metric="exact_match", pool=True).frame["n"]) == {3}
    with pytest.raises(InputError, match="and none is 7"):
        helm.read(tmp_path, metric="exact_match", run="7")


def test_golds_that_differ(suite):
    def edit(instances):
        instances[0]["references"] = references(3)

    change(run_of(suite, "=sw,subject=law"), "instances.json", edit)
    with pytest.raises(AlignmentError, match="golds differ from those of en in sw"):
        helm.read(suite, metric="exact_match")


def test_a_missing_instance(suite):
    def edit(stats):
        del stats[:3]

    change(run_of(suite, "=sw,subject=law"), "per_instance_stats.json", edit)
    with pytest.raises(AlignmentError, match=r"sw lacks 1 of 6 items of en"):
        helm.read(suite, metric="exact_match")
    outcomes = helm.read(suite, metric="exact_match", allow_missing=True)
    assert outcomes.frame.height == 11


@pytest.mark.usefixtures("suite")
def test_two_suites_at_once(tmp_path):
    write_run(tmp_path / "again", "gmmlu:language=sw,subject=law,model=org_tiny", [1, 1, 1])
    with pytest.raises(ReaderError, match="are both org/tiny on gmmlu subject=law in sw"):
        helm.read(tmp_path, metric="exact_match")


def test_no_source_language(suite):
    with pytest.raises(AlignmentError, match="no rows in the source language fr"):
        helm.read(suite, metric="exact_match", source="fr")


def test_an_empty_folder(tmp_path):
    assert not helm.sniff(tmp_path)
    with pytest.raises(ReaderError, match="no run directory of HELM"):
        helm.read(tmp_path)


@pytest.mark.parametrize(
    ("file", "text", "message"),
    [
        ("per_instance_stats.json", None, r"per_instance_stats\.json: no such file"),
        ("per_instance_stats.json", "[{", "is damaged or cut off"),
        ("per_instance_stats.json", "{}", "expected a JSON list, got dict"),
        ("per_instance_stats.json", "[]", "no unperturbed instance"),
        ("per_instance_stats.json", '[{"instance_id": "id1"}]', "entry 1: expected instance_id"),
        ("per_instance_stats.json", "[3]", "entry 1: expected instance_id"),
        ("instances.json", None, r"instances\.json: no such file"),
        ("instances.json", "[]", r"instances\.json does not list this instance"),
        ("instances.json", "[3]", "entry 1: an instance has an id"),
        ("run_spec.json", "{}", r"a run of HELM has a name and adapter_spec\.model"),
        ("run_spec.json", "[", "is damaged or cut off"),
    ],
)
def test_broken_files_are_named(suite, file, text, message):
    path = run_of(suite, "=sw,subject=law") / file
    path.unlink()
    if text is not None:
        path.write_text(text, encoding="utf-8")
    with pytest.raises(ReaderError, match=message):
        helm.read(suite, metric="exact_match")


def test_two_values_of_one_statistic(suite):
    def edit(stats):
        stats.append(entry("id10", [stat("exact_match", 0.0)]))

    change(run_of(suite, "=sw,subject=law"), "per_instance_stats.json", edit)
    with pytest.raises(ReaderError, match="id10 has two values of exact_match"):
        helm.read(suite, metric="exact_match")


def test_a_negative_count_is_no_count(suite):
    def edit(stats):
        first = stats[0]["stats"][0]
        first["count"], first["sum"] = -first["count"], -first["sum"]

    change(run_of(suite, "=sw,subject=law"), "per_instance_stats.json", edit)
    with pytest.raises(ReaderError, match="count -1 is negative"):
        helm.read(suite, metric="exact_match")


ODD = [None, [], "", 2.5, {"a": 1}, 10**400, "\ud800", [[1, "a"]]]


@pytest.mark.parametrize("file", ["run_spec.json", "per_instance_stats.json", "instances.json"])
def test_odd_values_never_end_in_a_traceback(suite, file):
    path = run_of(suite, "=sw,subject=law") / file
    content = json.loads(path.read_text(encoding="utf-8"))
    first = content if isinstance(content, dict) else content[0]
    records = [first]
    records += [one for one in first.values() if isinstance(one, dict)]
    records += [one[0] for one in first.values() if isinstance(one, list)]
    records += [one["name"] for one in records if isinstance(one.get("name"), dict)]
    for record in records:
        for key, before in list(record.items()):
            for odd in ODD:
                record[key] = odd
                path.write_text(json.dumps(content), encoding="utf-8")
                try:
                    outcomes = helm.read(suite, metric="exact_match")
                except InputError:
                    continue
                else:
                    assert outcomes.frame.height == 12
            record[key] = before
