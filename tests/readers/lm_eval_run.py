"""Run lm-evaluation-harness itself over a plan and let it write its logs; used as a script.

``python lm_eval_run.py PLAN OUT``. The plan is JSON: tasks, with their items, filters, metrics and
repeats, and the replies a model gives, by prompt.
"""

from __future__ import annotations

import json
import os
import sys
import tempfile
from pathlib import Path

os.environ |= {"HF_HUB_OFFLINE": "1", "HF_DATASETS_OFFLINE": "1"}

import lm_eval
from lm_eval.api.model import LM
from lm_eval.loggers import EvaluationTracker
from lm_eval.tasks import TaskManager, get_task_dict


class Scripted(LM):
    """A model that gives the next reply of a list, by prompt."""

    def __init__(self, replies):
        super().__init__()
        self.replies = {prompt: list(texts) for prompt, texts in replies.items()}

    def generate_until(self, requests):
        return [self.replies[one.args[0]].pop(0) for one in requests]

    def loglikelihood(self, requests):
        return [(self.replies["\t".join(one.args)][0], False) for one in requests]

    def loglikelihood_rolling(self, requests):
        raise NotImplementedError


def config_of(task, folder):
    data = Path(folder) / f"{task['task']}.jsonl"
    lines = (json.dumps(item, ensure_ascii=False) for item in task["items"])
    data.write_text("\n".join(lines) + "\n", encoding="utf-8")
    rest = {name: value for name, value in task.items() if name != "items"}
    return {
        "dataset_path": "json",
        "dataset_kwargs": {"data_files": {"test": str(data)}},
        "test_split": "test",
        "doc_to_text": "{{question}}",
        "doc_to_target": "{{answer}}",
        "output_type": "generate_until",
        "generation_kwargs": {"until": ["\n\n"], "do_sample": False},
        "metadata": {"version": 1.0},
        **rest,
    }


def main(plan, out):
    # without the eleven thousand tasks that the harness brings
    manager = TaskManager(include_defaults=False)
    for run in json.loads(Path(plan).read_text(encoding="utf-8")):
        with tempfile.TemporaryDirectory() as folder:
            tracker = EvaluationTracker(output_path=str(Path(out) / run.get("folder", "")))
            # not simple_evaluate, which spends seconds on a description of the machine
            results = lm_eval.evaluate(
                Scripted(run["replies"]),
                get_task_dict([config_of(task, folder) for task in run["tasks"]], manager),
                bootstrap_iters=0,
            )
            tracker.general_config_tracker.log_experiment_args(
                model_source="scripted",
                model_args=f"pretrained={run['model']}",
                system_instruction="",
                chat_template="",
                fewshot_as_multiturn=False,
            )
            samples = results.pop("samples")
            tracker.save_results_aggregated(results=results, samples=samples)
            for name in results["configs"]:
                tracker.save_results_samples(task_name=name, samples=samples[name])


if __name__ == "__main__":
    main(*sys.argv[1:])
