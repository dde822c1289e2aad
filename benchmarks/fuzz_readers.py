"""Damage logs in thousands of ways: a reader gives the same numbers, refuses, or says what it did.

A format is a small class: it writes a sound log, says how to read it, and lists its mutators. A
mutator damages the log in a way that can be noticed (a cut, a lost or repeated row, another
encoding, nonsense in a cell) or that means nothing (another order, other line ends). A changed
digit of a score is not among them: nobody can notice that.

What comes of each damaged log is one of

same      the numbers of the sound log: k and n of every item in every language
refused   a HatscoreError
told      other numbers, with a note that the sound log does not have; or a language is gone
          whole, as the result shows, and the others have their numbers
silent    other numbers and nothing said: a bug
crash     any other exception: a bug

The exit code is 1 if there was a bug. Every case has its own seed: ``--only FORMAT:NUMBER`` runs
one again and keeps its files.

Run with ``python benchmarks/fuzz_readers.py [--count 5000] [--seed 0] [--formats csv,jsonl]``.
"""

from __future__ import annotations

import argparse
import os
import random
import shutil
import sys
import tempfile
import time
import traceback
from collections import Counter
from pathlib import Path

# small frames are slower on several threads
os.environ.setdefault("POLARS_MAX_THREADS", "1")

import polars as pl

from fuzz_logs import LOG_FORMATS
from fuzz_records import RECORD_FORMATS
from fuzz_tables import TEXT_FORMATS
from hatscore import read
from hatscore.errors import HatscoreError

FORMATS = {one.name: one for one in (*TEXT_FORMATS, *RECORD_FORMATS, *LOG_FORMATS)}
BUGS = ("silent", "crash")


def rows_of(outcomes):
    return pl.concat([outcomes.frame, outcomes.excluded])


def fingerprint(rows):
    """Return the numbers without the names of items: who had how many right, item by item."""
    # a zero with a sign is a zero
    plain = rows.with_columns(pl.col("k").abs())
    cell = pl.concat_str(["language", "source_language", "n", "k", "error"], separator="|")
    items = plain.group_by("model", "benchmark", "item").agg(
        cell.sort().str.join(" ").alias("cells")
    )
    return tuple(sorted(items.select("model", "benchmark", "cells").iter_rows()))


def run_case(form, sound, number, seed, folder):
    """Damage one log; return the mutator's name, what came of it and the message."""
    rng = random.Random(f"{seed}:{form.name}:{number}")
    name = form.mutators[number % len(form.mutators)]
    form.write(folder)
    options = getattr(form, name)(folder, rng) or {}
    try:
        outcomes = read(form.where(folder), **{**form.options, **options})
    except HatscoreError as err:
        return name, "refused", str(err)
    except BaseException:  # noqa: BLE001 - whatever else comes is the bug that is looked for
        return name, "crash", traceback.format_exc()
    rows = rows_of(outcomes)
    numbers = fingerprint(rows)
    if numbers == fingerprint(sound[0]):
        return name, "same", ""
    left = sound[0].filter(pl.col("language").is_in(rows["language"].unique().implode()))
    if left.height < sound[0].height and numbers == fingerprint(left):
        return name, "told", "a language is gone"
    news = [note for note in outcomes.notes if note not in sound[1]]
    return name, "told" if news else "silent", "; ".join(news)


def fuzz(form, count, seed, show):
    counts = Counter()
    bugs = []
    with tempfile.TemporaryDirectory() as root:
        folder = Path(root) / "sound"
        folder.mkdir()
        form.write(folder)
        sound_outcomes = read(form.where(folder), **form.options)
        sound = rows_of(sound_outcomes), set(sound_outcomes.notes)
        work = Path(root) / "case"
        begun = time.perf_counter()
        for number in range(count):
            shutil.rmtree(work, ignore_errors=True)
            work.mkdir()
            name, came, said = run_case(form, sound, number, seed, work)
            wanted = form.expected.get(name)
            if wanted is not None and came not in (*wanted, *BUGS):
                came, said = "silent", f"expected {' or '.join(wanted)}, came {came}: {said}"
            counts[name, came] += 1
            if came in BUGS:
                bugs.append((number, name, came, said))
    seconds = time.perf_counter() - begun
    total = Counter()
    for (_, came), n in counts.items():
        total[came] += n
    print(f"\n{form.name}: {count} mutations, {seconds:.0f} s", flush=True)
    ways = ("same", "refused", "told", *BUGS)
    print(f"  {'':<16}{''.join(f'{way:>9}' for way in ways)}")
    for name in sorted(set(form.mutators)):
        print(f"  {name:<16}{''.join(f'{counts[name, way]:>9}' for way in ways)}")
    print(f"  {'all':<16}{''.join(f'{total[way]:>9}' for way in ways)}")
    for number, name, came, said in bugs[:show]:
        print(f"  {came} {form.name}:{number} ({name}): {said[-1500:]}")
    return total


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--count", type=int, default=5000, help="mutations per format")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--formats", default=",".join(FORMATS))
    parser.add_argument("--show", type=int, default=3, help="bugs to print per format")
    parser.add_argument("--only", metavar="FORMAT:NUMBER", help="run one case and keep its files")
    args = parser.parse_args()
    if args.only:
        name, number = args.only.split(":")
        form = FORMATS[name]
        folder = Path(tempfile.mkdtemp())
        form.write(folder)
        outcomes = read(form.where(folder), **form.options)
        sound = rows_of(outcomes), set(outcomes.notes)
        print(*run_case(form, sound, int(number), args.seed, folder), sep="\n")
        print(folder)
        return
    totals = Counter()
    for name in args.formats.split(","):
        totals += fuzz(FORMATS[name], args.count, args.seed, args.show)
    print("\nall formats:", ", ".join(f"{n} {way}" for way, n in totals.most_common()))
    sys.exit(1 if any(totals[bug] for bug in BUGS) else 0)


if __name__ == "__main__":
    main()
