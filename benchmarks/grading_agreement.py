"""Compare the number extractor with a second, independent one on real replies.

The replies are 17,500 answers of ChatGPT to MGSM, asked in ten languages and answered in seven
(``../shared/logs/clsp_mgsm_chatgpt/{query}/{reasoning}.jsonl``, one line per item). The second
extractor knows no cue, no grouping rule and no run-on: it takes the last line that holds a digit
and reads its numbers under both conventions. Where the two disagree, one of them is wrong or the
reply is ambiguous; those replies are worth reading.

Run with ``python benchmarks/grading_agreement.py [--show N]``.
"""

from __future__ import annotations

import argparse
import json
import re
import time
from collections import defaultdict
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING

from hatscore.grading import Gold, Reply, extract_number, grade

if TYPE_CHECKING:
    from collections.abc import Iterator

LOGS = Path(__file__).resolve().parents[1] / ".." / "shared" / "logs" / "clsp_mgsm_chatgpt"
DIGITS = re.compile(r"\d[\d.,\u00a0\u202f ]*")


def simple(text: str) -> set[Fraction]:
    """Return what the last line with a digit may mean, under either decimal convention."""
    lines = [line for line in text.splitlines() if re.search(r"\d", line)]
    if not lines:
        return set()
    runs = [run.strip(" .,\u00a0\u202f") for run in DIGITS.findall(lines[-1])]
    readings: set[Fraction] = set()
    for run in runs:
        plain = re.sub("[ \u00a0\u202f]", "", run)
        for decimal, group in ((".", ","), (",", ".")):
            try:
                readings.add(Fraction(plain.replace(group, "").replace(decimal, ".")))
            except ValueError:
                continue
    return readings | {-value for value in readings}


def replies() -> Iterator[tuple[str, str, int, str, str]]:
    for path in sorted(LOGS.glob("*/*.jsonl")):
        for row, line in enumerate(path.read_text(encoding="utf-8").splitlines()):
            record = json.loads(line)
            text = record["message"][-1]["content"]
            yield path.parent.name, path.stem, row, text, record["origin"]["answer"]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--show", type=int, default=0, help="disagreements to print")
    show: int = parser.parse_args().show
    counts: dict[str, dict[str, int]] = defaultdict(lambda: defaultdict(int))
    disagreements: list[str] = []
    seconds = 0.0
    for query, reasoning, row, text, answer in replies():
        gold = Gold("number", answer)
        begin = time.perf_counter()
        graded = grade(Reply(text), gold)
        seconds += time.perf_counter() - begin
        ours = extract_number(text)
        count = counts[reasoning]
        count["n"] += 1
        count[graded.status] += 1
        if ours not in (simple(text) or {None}):
            count["disagree"] += 1
            disagreements.append(f"{query}/{reasoning} {row} gold {answer} ours {ours}: {text[-160:]!r}")
    if not counts:
        raise SystemExit(f"no replies under {LOGS}")
    print("reasoning      n  accuracy  unparsed  disagree")
    for language, count in sorted(counts.items()):
        n = count["n"]
        print(
            f"{language:9} {n:6} {count['correct'] / n:9.3f} {count['unparsed'] / n:9.4f} "
            f"{count['disagree'] / n:9.4f}"
        )
    total = sum(count["n"] for count in counts.values())
    print(f"{total / seconds:,.0f} grades a second; {len(disagreements)} disagreements")
    print(*disagreements[:show], sep="\n")


if __name__ == "__main__":
    main()
