"""Compare the number extractor with a second, independent one on real replies.

The replies are 17,500 answers of ChatGPT to MGSM, asked in ten languages and answered in seven
(``../shared/logs/clsp_mgsm_chatgpt/{query}/{reasoning}.jsonl``, one line per item). The second
extractor knows no cue, no equation and no run-on: it takes the last line that holds a digit and
reads the number behind its last colon, else its last number. Where the two disagree, one of them
is wrong or the reply is ambiguous; those replies are worth reading.

Run with ``python benchmarks/grading_agreement.py [--show N]``.
"""

from __future__ import annotations

import argparse
import json
import re
import time
from collections import Counter, defaultdict
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING

from hatscore.grading import Gold, Reply, extract_number, grade

if TYPE_CHECKING:
    from collections.abc import Iterator

LOGS = Path(__file__).resolve().parents[1] / ".." / "shared" / "logs" / "clsp_mgsm_chatgpt"
COLON = re.compile("[:\uff1a]")
NUMBER = re.compile("(?<![\\d.,])[-\u2212]?\\d+(?:[.,\u00a0\u202f ]?\\d+)*")
# Two digits or one behind the last mark are decimals, three are thousands.
PARTS = re.compile(r"(.*?)(?:[.,](\d{1,2}))?")


def simple(text: str) -> Fraction | None:
    """Return the number after the last colon of the last line with a digit, or its last one."""
    lines = [line for line in text.splitlines() if re.search(r"\d", line)]
    if not lines:
        return None
    *_, after = COLON.split(lines[-1])
    announced = NUMBER.findall(after) if COLON.search(lines[-1]) else []
    number = announced[0] if announced else NUMBER.findall(lines[-1])[-1]
    plain = re.sub(r"[^\d.,-]", "", number.replace("\u2212", "-"))
    whole, decimals = PARTS.fullmatch(plain).groups()
    value = abs(int(re.sub("[.,]", "", whole))) + Fraction(f"0.{decimals or 0}")
    return -value if whole.startswith("-") else value


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
    counts: dict[str, Counter[str]] = defaultdict(Counter)
    disagreements: list[str] = []
    seconds = 0.0
    for query, reasoning, row, text, answer in replies():
        begin = time.perf_counter()
        graded = grade(Reply(text), Gold("number", answer))
        seconds += time.perf_counter() - begin
        ours, theirs, right = extract_number(text), simple(text), Fraction(answer.replace(",", ""))
        count = counts[reasoning]
        count.update(["n", graded.status])
        count["simple"] += theirs == right
        if ours != theirs:
            count["disagree"] += 1
            verdict = "lost" if theirs == right else "won" if ours == right else "both wrong"
            disagreements.append(
                f"{verdict} {query}/{reasoning} {row}: gold {answer}, ours {ours}, "
                f"simple {theirs}: {text[-200:]!r}"
            )
    if not counts:
        raise SystemExit(f"no replies under {LOGS}")
    print("reasoning      n  accuracy  (simple)  unparsed  disagree")
    for language, count in sorted(counts.items()):
        shares = [
            count[name] / count["n"] for name in ("correct", "simple", "unparsed", "disagree")
        ]
        print(
            f"{language:9} {count['n']:6} {shares[0]:9.3f} {shares[1]:9.3f} "
            f"{shares[2]:9.4f} {shares[3]:9.4f}"
        )
    total = sum(count["n"] for count in counts.values())
    print(f"{total / seconds:,.0f} grades a second on one core")
    won = sum(line.startswith("won") for line in disagreements)
    lost = sum(line.startswith("lost") for line in disagreements)
    print(f"{len(disagreements)} disagreements: right alone {won}, wrong alone {lost}")
    print(*disagreements[:show], sep="\n")


if __name__ == "__main__":
    main()
