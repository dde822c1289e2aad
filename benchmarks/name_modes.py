"""Names on real answers: which spellings are accepted moves the score, by how much per language.

Usage: python benchmarks/name_modes.py [--logs DIR]

Grades the closed-book answers of three models to 266 to 2,000 facts in twelve languages
(cross-lingual question answering, `xing_crosslingual_qa`) and gpt-4o's answers to a sample of
ECLeKTic (`eclektic_gpt4o`), with lenient names (target language, source language, English) and
with strict ones (target language alone). The logs state no licence and are not part of the project.
"""

from __future__ import annotations

import argparse
import csv
import json
from collections import defaultdict
from pathlib import Path

from hatscore.grading import Gold, Reply, grade

LOGS = Path(__file__).parents[1] / ".." / "shared" / "logs"
SAMPLE = ("data", "eclektic", "sample_39x12.csv")
LEFT_OUT = {"head_entity_id", "rel_id"}


def xing(folder):
    """Yield (language, reply, gold) of every answer of one model."""
    for path in sorted(folder.glob("result_*.json")):
        for record in json.loads(path.read_text(encoding="utf-8")):
            names = {
                language: tuple(cell["groundTruth"])
                for language, cell in record.items()
                if language not in LEFT_OUT
            }
            for language in names:
                gold = Gold(
                    "name", names["en"][0], language=language, source_language="en", names=names
                )
                yield language, record[language]["answer"], gold


def eclektic(folder, sample):
    """Yield (language, reply, gold) of gpt-4o's answers to the sample."""
    names = defaultdict(dict)
    with sample.open(encoding="utf-8-sig", newline="") as file:
        for row in csv.DictReader(file):
            names[row["q_id"]][row["language"]] = (row["answer"],)
    for path in sorted(folder.glob("*_predictions.csv")):
        with path.open(encoding="utf-8-sig", newline="") as file:
            for row in csv.DictReader(file):
                language = row["target_lang"]
                known = names[row["q_id"]]
                gold = Gold(
                    "name",
                    known["en"][0],
                    language=language,
                    source_language="en",
                    names=known,
                )
                yield language, row["a_tgt"], gold


def shares(answers):
    right = {mode: defaultdict(int) for mode in ("lenient", "strict")}
    total = defaultdict(int)
    for language, text, gold in answers:
        total[language] += 1
        for mode, found in right.items():
            found[language] += grade(Reply(str(text)), gold, names=mode).status == "correct"
    return {
        language: (right["lenient"][language] / n, right["strict"][language] / n, n)
        for language, n in total.items()
    }


def show(name, table):
    print(f"\n{name}: share right, lenient and strict")
    for language, (lenient, strict, n) in sorted(table.items()):
        print(f"  {language:<4}{lenient:7.3f}{strict:7.3f}{lenient - strict:+8.3f}  n {n}")


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--logs", type=Path, default=LOGS)
    logs = parser.parse_args().logs
    if not logs.is_dir():
        raise SystemExit(f"{logs}: no logs there; give their folder with --logs")
    for folder in sorted((logs / "xing_crosslingual_qa").iterdir()):
        show(folder.name, shares(xing(folder)))
    sample = logs.parent.joinpath(*SAMPLE)
    show("gpt-4o on ECLeKTic's sample", shares(eclektic(logs / "eclektic_gpt4o", sample)))


if __name__ == "__main__":
    main()
