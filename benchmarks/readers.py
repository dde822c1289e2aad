"""How fast logs of other tools are read, and in how much memory, beside the tool's own reader.

Run with the extras of the tests installed::

    python benchmarks/readers.py            # every format
    python benchmarks/readers.py inspect    # one of them

Every measurement is a process of its own, best of three for time; memory is what the process has
at its peak beyond what it had before it began to read. Logs are written first, by the tool itself
as far as that ends in reasonable time.
"""

from __future__ import annotations

import json
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable

SIZES = (5_500, 55_000)
LANGUAGES = ("en", "bn", "de", "es", "fr", "ja", "ru", "sw", "te", "th", "zh")
EPOCHS = 10
RUNS = 3


def main(names: list[str]) -> None:
    """Run the benchmarks named, all without a name."""
    benchmarks: dict[str, Callable[[Path], None]] = {
        "inspect": inspect_logs,
        "lm-eval": lm_eval_logs,
    }
    for name in names or benchmarks:
        with tempfile.TemporaryDirectory() as folder:
            benchmarks[name](Path(folder))


def inspect_logs(folder: Path) -> None:
    """inspect_ai: the reader against `inspect_ai.analysis.samples_df`."""
    print("inspect_ai .eval, 11 languages, 10 epochs")
    for size in SIZES:
        path = folder / f"{size}.eval"
        in_process("write_inspect", str(path), str(size))
        megabytes = path.stat().st_size / 1e6
        found = {name: best(name, str(path)) for name in ("read_inspect", "read_samples_df")}
        assert found["read_inspect"]["samples"] == found["read_samples_df"]["samples"] == size  # noqa: S101
        assert found["read_inspect"]["correct"] == found["read_samples_df"]["correct"]  # noqa: S101
        print(f"  {size} samples, {megabytes:.1f} MB")
        for name, label in (("read_inspect", "hatscore.read"), ("read_samples_df", "samples_df")):
            seconds, memory = found[name]["seconds"], found[name]["megabytes"]
            print(
                f"    {label:14} {seconds:7.2f} s {size / seconds:10.0f} samples/s "
                f"{memory:7.0f} MB more at the peak"
            )
        ratio = found["read_samples_df"]["seconds"] / found["read_inspect"]["seconds"]
        print(f"    ratio {ratio:.1f}")


def write_inspect(path: str, size: str) -> None:
    """Run a small evaluation with inspect and multiply its samples.

    inspect needs minutes for a log of this size. The members of its small log are copied under new
    ids instead, packed as inspect packs them.
    """
    import zipfile  # noqa: PLC0415 - patched for zstd by inspect

    from inspect_ai import Task  # noqa: PLC0415
    from inspect_ai import eval as run  # noqa: PLC0415
    from inspect_ai._util.zipfile import zipfile_compress_kwargs  # noqa: PLC0415
    from inspect_ai.dataset import Sample  # noqa: PLC0415
    from inspect_ai.model import ModelOutput, ModelUsage, get_model  # noqa: PLC0415
    from inspect_ai.scorer import match  # noqa: PLC0415

    def answer(*_: object) -> ModelOutput:
        text = "Half of the apples are left, which makes three, and two more are bought. " * 6
        output = ModelOutput.from_content("model", f"{text}ANSWER 5")
        output.usage = ModelUsage(input_tokens=90, output_tokens=110, total_tokens=200)
        return output

    with tempfile.TemporaryDirectory() as folder:
        (log,) = run(
            Task(
                dataset=[
                    Sample(id=i, input="How many apples has she? " * 12, target=str(4 + i),
                           metadata={"language": "en", "item": i})
                    for i in range(2)
                ],
                scorer=match(location="end"),
                name="apples",
            ),
            model=get_model("mockllm/model", custom_outputs=answer),
            log_dir=folder,
            display="none",
        )  # fmt: skip
        with zipfile.ZipFile(log.location) as archive:
            small = {name: archive.read(name) for name in archive.namelist()}
    samples = [json.loads(small[f"samples/{i}_epoch_1.json"]) for i in range(2)]
    summaries = json.loads(small["summaries.json"])
    with zipfile.ZipFile(path, "w", **zipfile_compress_kwargs) as archive:
        rows = []
        for n in range(int(size)):
            item, epoch = divmod(n, EPOCHS)
            language = LANGUAGES[item % len(LANGUAGES)]
            new = {
                "id": f"{language}-{item // len(LANGUAGES)}",
                "epoch": epoch + 1,
                "metadata": {"language": language, "item": item // len(LANGUAGES)},
                "target": "5",
                "uuid": f"{n:022}",
            }
            rows.append(summaries[n % 3 % 2] | new)
            sample = json.dumps(samples[n % 3 % 2] | new)
            archive.writestr(f"samples/{new['id']}_epoch_{epoch + 1}.json", sample)
        archive.writestr("summaries.json", json.dumps(rows))
        archive.writestr("header.json", small["header.json"])


def read_inspect(path: str) -> dict[str, Any]:
    """Read with hatscore."""
    from hatscore import read  # noqa: PLC0415
    from hatscore.readers import inspect_log  # noqa: F401, PLC0415 - loaded before the clock runs

    with measured() as result:
        frame = read(path, source="en").frame
    return result | {"samples": int(frame["n"].sum()), "correct": int(frame["k"].sum())}


def read_samples_df(path: str) -> dict[str, Any]:
    """Read with inspect."""
    from inspect_ai.analysis import samples_df  # noqa: PLC0415

    with measured() as result:
        frame = samples_df(path, quiet=True)
    return result | {"samples": len(frame), "correct": int((frame.score_match == "C").sum())}


def lm_eval_logs(folder: Path) -> None:
    """lm-evaluation-harness: the reader against `pandas.read_json` of the same files."""
    in_process("write_lm_eval", str(folder))
    megabytes = sum(one.stat().st_size for one in folder.rglob("*.jsonl")) / 1e6
    found = {name: best(name, str(folder)) for name in ("read_lm_eval", "read_pandas")}
    assert found["read_lm_eval"]["rows"] == found["read_pandas"]["rows"]  # noqa: S101
    assert found["read_lm_eval"]["correct"] == found["read_pandas"]["correct"]  # noqa: S101
    rows = found["read_lm_eval"]["rows"]
    print(f"lm-evaluation-harness, 29 languages, {rows} rows, {megabytes:.0f} MB")
    for name, label in (("read_lm_eval", "hatscore.read"), ("read_pandas", "pandas.read_json")):
        seconds, memory = found[name]["seconds"], found[name]["megabytes"]
        print(
            f"    {label:16} {seconds:7.2f} s {rows / seconds:10.0f} rows/s "
            f"{memory:7.0f} MB more at the peak"
        )
    ratio = found["read_pandas"]["seconds"] / found["read_lm_eval"]["seconds"]
    print(f"    ratio {ratio:.1f}")


def write_lm_eval(folder: str) -> None:
    """Write rows as the harness does, of MMLU-ProX's size: 29 languages of 5,880 items."""
    tags = "af ar bn cs de en es fr hi hu id it ja ko mr ne pt ru sr sw te th uk ur vi wo yo zh zu"
    options = {f"option_{i}": "one of ten options " * 2 for i in range(10)}
    prompt = "Question: which of these is it?\nAnswer: Let's think step by step. " * 12
    path = Path(folder) / "org__model"
    path.mkdir()
    for language in tags.split():
        name = f"samples_mmlu_prox_{language}_2026-01-01T00-00-00.000001.jsonl"
        with (path / name).open("w", encoding="utf-8") as file:
            for i in range(5_880):
                row = {
                    "doc_id": i,
                    "doc": {"question_id": i, "question": f"Which is it? {i}", **options},
                    "target": "ABCDEFGHIJ"[i % 10],
                    "arguments": {"gen_args_0": {"arg_0": prompt, "arg_1": {"until": ["Q:"]}}},
                    "resps": [["First this, then that. " * 10 + "The answer is (A)."]],
                    "filtered_resps": ["A"],
                    "filter": "custom-extract",
                    "metrics": ["exact_match"],
                    "doc_hash": "0" * 64,
                    "prompt_hash": "0" * 64,
                    "target_hash": "0" * 64,
                    "exact_match": float(i % 10 == 0),
                }
                file.write(json.dumps(row, ensure_ascii=False) + "\n")


def read_lm_eval(path: str) -> dict[str, Any]:
    """Read with hatscore."""
    from hatscore import read  # noqa: PLC0415
    from hatscore.readers import lm_eval  # noqa: F401, PLC0415 - loaded before the clock runs

    with measured() as result:
        frame = read(path).frame
    return result | {"rows": frame.height, "correct": int(frame["k"].sum())}


def read_pandas(path: str) -> dict[str, Any]:
    """Read with pandas, keeping of every file what a score needs."""
    import pandas as pd  # noqa: PLC0415

    with measured() as result:
        frame = pd.concat(
            pd.read_json(one, lines=True)[["doc_id", "target", "exact_match"]]
            for one in sorted(Path(path).rglob("samples_*.jsonl"))
        )
    return result | {"rows": len(frame), "correct": int(frame.exact_match.sum())}


class measured:  # noqa: N801 - used as a function
    """Time and memory of a block."""

    def __enter__(self) -> dict[str, Any]:
        self._result: dict[str, Any] = {}
        self._memory = peak()
        self._begin = time.perf_counter()
        return self._result

    def __exit__(self, *_: object) -> None:
        self._result["seconds"] = time.perf_counter() - self._begin
        self._result["megabytes"] = peak() - self._memory


def peak() -> float:
    """Most memory this process has had, in MB; Linux counts in kB, macOS in bytes."""
    most = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return most / (1e6 if sys.platform == "darwin" else 1e3)


def best(name: str, *arguments: str) -> dict[str, Any]:
    """Run a function several times, each in a process of its own; the fastest, and most memory."""
    runs = [in_process(name, *arguments) for _ in range(RUNS)]
    return min(runs, key=lambda r: r["seconds"]) | {"megabytes": max(r["megabytes"] for r in runs)}


def in_process(name: str, *arguments: str) -> Any:
    """Call a function of this file in a new process and return its result."""
    done = subprocess.run(  # noqa: S603 - this file itself
        [sys.executable, __file__, "--call", name, *arguments],
        check=True,
        stdout=subprocess.PIPE,
        text=True,
    )
    return json.loads(done.stdout.splitlines()[-1])


if __name__ == "__main__":
    if sys.argv[1:2] == ["--call"]:
        print(json.dumps(globals()[sys.argv[2]](*sys.argv[3:])))
    else:
        main(sys.argv[1:])
