from __future__ import annotations

import os
import subprocess
import sys
import unicodedata
from pathlib import Path

import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hatscore.benchmarks.official import (
    Hub,
    OfficialData,
    check_options,
    check_request,
    draw,
    read_hub_layout,
    read_jsonl,
    read_tsv,
)
from hatscore.benchmarks.official_checks import folded, listed, same_text, text_faults
from hatscore.errors import InputError, MissingExtraError, ReaderError, UnknownNameError

PINNED = "a" * 40
DATA = OfficialData("made", Hub("owner/made", PINNED), "GitHub owner/made", inside=("Made-Files",))
CARD = """---
configs:
- config_name: en
  data_files:
  - split: test
    path: en/test-*
  - split: validation
    path: en/validation-*
- config_name: sw
  data_files:
  - split: test
    path: odd/place.parquet
---
"""


def hub_layout(root: Path, card: str = CARD) -> Path:
    (root / "en").mkdir(parents=True)
    (root / "odd").mkdir()
    rows = pl.DataFrame({"question": ["one?", "two?"], "answer_number": [1, 2]})
    rows.write_parquet(root / "en" / "test-00000-of-00001.parquet")
    rows.head(1).write_parquet(root / "en" / "validation-00000-of-00001.parquet")
    rows.reverse().write_parquet(root / "odd" / "place.parquet")
    if card:
        (root / "README.md").write_text(card, encoding="utf-8")
    return root


# --- where the files are


def test_directory_of_the_user_itself(tmp_path: Path) -> None:
    (tmp_path / "made_en.tsv").touch()
    assert DATA.directory(str(tmp_path), marks=["made_*.tsv"]) == tmp_path


@pytest.mark.parametrize("inside", ["made", "Made-Files"])
def test_directory_below_a_checkout_whose_readme_does_not_count(
    tmp_path: Path, inside: str
) -> None:
    (tmp_path / "README.md").write_text("# a repository")
    (tmp_path / inside).mkdir()
    (tmp_path / inside / "made_en.tsv").touch()
    found = DATA.directory(str(tmp_path), marks=["made_*.tsv", "README.md"])
    assert found == tmp_path / inside


def test_directory_that_holds_something_else(tmp_path: Path) -> None:
    (tmp_path / "other.txt").touch()
    with pytest.raises(InputError, match=r"no file of made: expected made_\*\.tsv, .*Made-Files"):
        DATA.directory(str(tmp_path), marks=["made_*.tsv"])


def test_directory_that_is_a_file_or_missing(tmp_path: Path) -> None:
    (tmp_path / "f").touch()
    with pytest.raises(InputError, match=r"f is a file: pass .*--data PATH.*GitHub owner/made"):
        DATA.directory(str(tmp_path / "f"), marks=["*"])
    with pytest.raises(InputError, match="nowhere is missing"):
        DATA.directory(str(tmp_path / "nowhere"), marks=["*"])


# --- the hub: a closed port stands for a dead network, a filled cache for an earlier download

FROM_HUB = """
import sys
from hatscore.benchmarks.official import Hub, OfficialData, read_hub_layout
data = OfficialData("made", Hub("owner/made", sys.argv[1] * 40), "GitHub owner/made")
print(read_hub_layout(data.directory(None, marks=["README.md"]), "en", "test"))
"""


def from_hub(home: Path, digit: str) -> subprocess.CompletedProcess[str]:
    names = [name for name in os.environ if name.startswith("HF_") or "proxy" in name.lower()]
    env = {name: value for name, value in os.environ.items() if name not in names}
    env |= {"HF_HOME": str(home), "HF_ENDPOINT": "http://127.0.0.1:9"}
    return subprocess.run(
        [sys.executable, "-c", FROM_HUB, digit],
        env=env,
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )


def test_hub_without_network_says_what_to_do_and_does_not_wait(tmp_path: Path) -> None:
    done = from_hub(tmp_path, "a")
    assert done.returncode == 1
    last = done.stderr.strip().splitlines()[-1]
    assert last.startswith("hatscore.errors.InputError: made could not be fetched: owner/made at")
    assert f"revision {PINNED[:12]} is not in the cache" in last
    for advice in ("--data PATH", "--set data=PATH", "GitHub owner/made"):
        assert advice in last
    assert "Retrying" not in done.stderr


def test_hub_revision_in_the_cache_needs_no_network_and_no_other_takes_its_place(
    tmp_path: Path,
) -> None:
    repository = tmp_path / "hub" / "datasets--owner--made"
    hub_layout(repository / "snapshots" / PINNED)
    done = from_hub(tmp_path, "a")
    assert done.returncode == 0, done.stderr
    rows = [{"question": "one?", "answer_number": 1}, {"question": "two?", "answer_number": 2}]
    assert done.stdout.strip() == str(rows)

    (repository / "refs").mkdir()
    (repository / "refs" / "main").write_text(PINNED)
    other = from_hub(tmp_path, "b")
    assert other.returncode == 1
    assert "revision bbbbbbbbbbbb is not in the cache" in other.stderr


# --- the layout of the hub on disk


@pytest.mark.parametrize("card", [CARD, ""])
def test_hub_layout_with_and_without_a_card(tmp_path: Path, card: str) -> None:
    root = hub_layout(tmp_path / "files", card)
    rows = read_hub_layout(root, "en", "test")
    assert [row["question"] for row in rows] == ["one?", "two?"]
    assert [row["answer_number"] for row in rows] == [1, 2]


def test_hub_layout_follows_the_card(tmp_path: Path) -> None:
    root = hub_layout(tmp_path / "files")
    assert [row["question"] for row in read_hub_layout(root, "sw", "test")] == ["two?", "one?"]
    assert len(read_hub_layout(root, "en", "validation")) == 1


def test_hub_layout_by_a_relative_path(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    hub_layout(tmp_path / "files")
    monkeypatch.chdir(tmp_path)
    assert len(read_hub_layout(Path("files"), "en", "test")) == 2


@pytest.mark.parametrize(("config", "split"), [("de", "test"), ("sw", "validation")])
def test_hub_layout_without_that_part(tmp_path: Path, config: str, split: str) -> None:
    root = hub_layout(tmp_path / "files")
    with pytest.raises(ReaderError, match=f"the split '{split}' of '{config}' cannot be read"):
        read_hub_layout(root, config, split)


def test_hub_layout_with_a_broken_file(tmp_path: Path) -> None:
    root = hub_layout(tmp_path / "files")
    (root / "en" / "test-00000-of-00001.parquet").write_bytes(b"no parquet at all")
    with pytest.raises(ReaderError, match="cannot be read in the layout of the hub"):
        read_hub_layout(root, "en", "test")


def test_missing_libraries_name_the_extra(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    root = hub_layout(tmp_path / "files")
    for gone in ("datasets", "huggingface_hub"):
        monkeypatch.setitem(sys.modules, gone, None)
    with pytest.raises(MissingExtraError, match=r"pip install 'hatscore\[hub\]'") as caught:
        read_hub_layout(root, "en", "test")
    assert caught.value.extra == "hub"
    with pytest.raises(MissingExtraError, match=r"--data PATH reads .*'hatscore\[hub\]'"):
        DATA.directory(None, marks=["*"])


# --- files of lines


def test_only_a_line_feed_ends_a_line(tmp_path: Path) -> None:
    path = tmp_path / "x.tsv"
    path.write_bytes("\ufeffa\x0cb\u2028c\x85\t1\r\nd\t2\n".encode())
    assert read_tsv(path) == [("a\x0cb\u2028c\x85", "1"), ("d", "2")]


def test_quotes_are_text_and_a_last_line_may_be_open(tmp_path: Path) -> None:
    path = tmp_path / "x.tsv"
    path.write_text('"a\t1\nb"\t2', encoding="utf-8")
    assert read_tsv(path) == [('"a', "1"), ('b"', "2")]


def test_not_utf8_names_the_byte(tmp_path: Path) -> None:
    path = tmp_path / "x.tsv"
    path.write_bytes(b"ab\xe9\t1\n")
    with pytest.raises(ReaderError, match=r"x\.tsv: byte 2 is not UTF-8"):
        read_tsv(path)


def test_missing_file_names_its_neighbours(tmp_path: Path) -> None:
    (tmp_path / "made_en.tsv").touch()
    with pytest.raises(ReaderError, match=r"made_de\.tsv is missing; .* has made_en\.tsv"):
        read_tsv(tmp_path / "made_de.tsv")


@pytest.mark.parametrize(
    ("line", "message"), [("{", "line 2 is not JSON"), ("[1]", "line 2 is a list, expected")]
)
def test_broken_json_lines(tmp_path: Path, line: str, message: str) -> None:
    path = tmp_path / "x.jsonl"
    path.write_text(f'{{"a": 1}}\n{line}\n', encoding="utf-8")
    with pytest.raises(ReaderError, match=message):
        read_jsonl(path)


# --- requests


@given(st.integers(0, 10**6), st.integers(1, 60), st.integers(1, 60))
@settings(derandomize=True, deadline=None, max_examples=50)
def test_draw_is_nested_and_forgets_the_order_of_ids(seed: int, few: int, many: int) -> None:
    few, many = sorted((few, many))
    ids = [str(number) for number in range(60)]
    larger = draw("made", ids, many, seed)
    assert draw("made", ids[::-1], few, seed) == larger[:few]
    assert len(set(larger)) == many
    assert set(draw("made", ids, None, seed)) == set(ids)


def test_draw_depends_on_the_seed() -> None:
    ids = [str(number) for number in range(60)]
    assert draw("made", ids, 10, 1) != draw("made", ids, 10, 2)


@pytest.mark.parametrize("count", [0, -1, 4])
def test_draw_says_how_many_there_are(count: int) -> None:
    with pytest.raises(InputError, match=rf"made has 3 items; {count} were asked for"):
        draw("made", ["a", "b", "c"], count, 0)


def test_requests_that_cannot_be_met() -> None:
    with pytest.raises(UnknownNameError, match="did you mean data"):
        check_options("made", {"date": "x"}, {"data": "a directory"})
    with pytest.raises(UnknownNameError, match="unknown language 'xx'"):
        check_request("made", ["en", "xx"], "en", ["en", "sw"])
    with pytest.raises(InputError, match="'en', the source"):
        check_request("made", ["sw"], "en", ["en", "sw"])
    with pytest.raises(InputError, match="each language once"):
        check_request("made", ["en", "en"], "en", ["en", "sw"])


# --- texts


@pytest.mark.parametrize(
    ("text", "part"),
    [
        ("a\ufffdb", "a replacement character (U+FFFD)"),
        ("\ufeffa", "a byte order mark (U+FEFF)"),
        ("a\u200bb", "a zero-width space (U+200B)"),
        ("a\u200db", "a joiner (U+200D) in a script without joiners"),
        ("\x0crac{1}{2}", "a control character (U+000C)"),
        ("RÃ©ponse", "mojibake"),
        ("donâ€™t", "mojibake"),
        ("à¤‰à¤¤à¥", "mojibake"),
    ],
)
def test_faults_of_a_text(text: str, part: str) -> None:
    (fault,) = text_faults(text)
    assert fault.startswith(part)


# Ordinary text of the languages in question; the joiners of Telugu, Nepali and Urdu are spelling.
ORDINARY = [
    "Réponse : l’été, ça coûte 3 € – « déjà »…",
    "Ângela pagou R$ 3,50 à vista; São Paulo às 14 h. Âge: 3º",
    "Ìdáhùn tó tọ́ wà níbẹ̀, ọmọdé",
    "Câu hỏi: Âm nhạc là gì? Ã, à, â",
    "సమాధానం: కంప్యూటర్‌లో",
    "गर्‍यो",
    "اُن‌کا جواب",
    "10^4 m · s⁻¹ ± 3 × 10°, x ≥ 0, $\\frac{1}{2}$\n\tA",
]


@pytest.mark.parametrize("text", ORDINARY)
def test_ordinary_text_has_no_fault(text: str) -> None:
    assert text_faults(text) == ()


@pytest.mark.parametrize("text", ["Réponse", "ответ «да»", "উত্তর", "答え：12", "Ọ̀rọ̀ “kan”"])
def test_double_encoding_is_seen(text: str) -> None:
    assert text_faults(text.encode().decode("latin-1"))


@given(st.text(max_size=30))
@settings(derandomize=True, deadline=None, max_examples=200)
def test_folding_forgets_form_and_blanks(text: str) -> None:
    assert folded(unicodedata.normalize("NFC", text)) == folded(unicodedata.normalize("NFD", text))
    assert folded(f" {text}\n") == folded(text)
    assert same_text(unicodedata.normalize("NFD", text)) == same_text(text)


def test_options_that_differ_stay_different() -> None:
    assert same_text("Ca²⁺") != same_text("Ca2+")
    assert same_text("5 °C") != same_text("5 °c")
    assert same_text("a  b\n") == same_text("a b")


def test_long_lists_are_cut() -> None:
    assert listed(["1", "2"]) == "1, 2"
    assert listed(map(str, range(14))).endswith("10, 11 and 2 more")
