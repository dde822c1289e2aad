"""Which reader takes a path, plug-ins, and options of several readers at once."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import polars as pl
import pytest

from hatscore import Outcomes, read
from hatscore.errors import HatscoreError, InputError, ReaderError, UnknownNameError
from hatscore.readers.registry import ENTRY_POINT_GROUP, READERS, detect, read_all

LONG = "item,language,score\n1,en,1\n1,de,0\n"
NAMED = {"source": "en", "model": "m", "benchmark": "b"}
PLUG_IN = """
from hatscore.outcomes import Outcomes
import polars as pl

FORMAT = "ours"
OPTIONS = ("flavour",)


def sniff(path):
    return path.is_file() and path.read_bytes().startswith(b"OURS,")


def read(path, *, flavour="plain"):
    rows = [(flavour, "b", "1", one, "en", 1, 1) for one in ("en", "de")]
    names = ["model", "benchmark", "item", "language", "source_language", "n", "k"]
    return Outcomes.from_frame(pl.DataFrame(rows, schema=names, orient="row"))
"""


def put(folder, text, name="table.csv"):
    path = folder / name
    path.write_text(text, encoding="utf-8")
    return path


def canonical(folder, model="m", name="a.parquet"):
    path = folder / name
    rows = [(model, "b", "1", one, "en", 1, 1) for one in ("en", "de")]
    names = ["model", "benchmark", "item", "language", "source_language", "n", "k"]
    Outcomes.from_frame(pl.DataFrame(rows, schema=names, orient="row")).write_parquet(path)
    return path


@pytest.fixture
def install(tmp_path, monkeypatch):
    """Install a package with a reader, as pip would."""

    def install_it(code, *, name="ours", package="ours_reader", target=None):
        site = tmp_path / f"site_{package}"
        info = site / f"{package}-1.dist-info"
        info.mkdir(parents=True)
        (site / f"{package}.py").write_text(code, encoding="utf-8")
        (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {package}\nVersion: 1\n")
        points = f"[{ENTRY_POINT_GROUP}]\n{name} = {target or package}\n"
        (info / "entry_points.txt").write_text(points)
        monkeypatch.syspath_prepend(str(site))
        monkeypatch.delitem(sys.modules, package, raising=False)

    return install_it


def test_content_decides_and_not_the_name(tmp_path):
    assert detect(put(tmp_path, LONG, "a.eval")).FORMAT == "table"
    assert detect(canonical(tmp_path, name="b.csv")).FORMAT == "parquet"
    pl.DataFrame({"item": ["1"], "score": [1]}).write_parquet(tmp_path / "c.parquet")
    assert detect(tmp_path / "c.parquet").FORMAT == "table"
    record = dict.fromkeys(
        ("schema_version", "evaluation_id", "evaluation_name", "sample_id", "evaluation"), "x"
    )
    assert detect(put(tmp_path, json.dumps(record), "d.txt")).FORMAT == "every_eval_ever"


@pytest.mark.parametrize(
    ("raw", "said"),
    [
        (b"", "an empty file"),
        (b"PK\x03\x04rest", "an Excel workbook .save a workbook's sheet as CSV UTF-8"),
        (b"\xd0\xcf\x11\xe0rest", "an old Excel workbook"),
        (b"\x1f\x8b\x08\x00", "compressed with gzip"),
        (b"\x28\xb5\x2f\xfd\x00", "compressed with zstd"),
        (b"\x00\x01\x02", "3 bytes of no known format"),
        (b"just words\nand more words\n", "no known format"),
    ],
)
def test_what_is_no_log_is_described(tmp_path, raw, said):
    path = tmp_path / "x.csv"
    path.write_bytes(raw)
    with pytest.raises(HatscoreError, match=said):
        read(path)


def test_nothing_there(tmp_path):
    with pytest.raises(ReaderError, match="no such file or directory"):
        read(tmp_path / "none.csv")
    with pytest.raises(ReaderError, match="no such file or directory"):
        read(tmp_path / "none.csv", format="table")
    with pytest.raises(ReaderError, match="an empty directory"):
        read(tmp_path)
    with pytest.raises(InputError, match="give at least one path"):
        read([])


def test_a_format_can_be_named(tmp_path):
    path = canonical(tmp_path)
    assert read(path, format="parquet").frame.height == 2
    assert read(path, format="table").frame.height == 2
    with pytest.raises(UnknownNameError, match="unknown format 'tabel': did you mean table"):
        read(path, format="tabel")


def test_an_option_is_an_error_only_if_no_reader_has_it(tmp_path):
    table, other = put(tmp_path, LONG), canonical(tmp_path, model="x")
    assert read([table, other], **NAMED).frame.height == 4
    with pytest.raises(UnknownNameError, match="option of reader table and parquet 'flavour'"):
        read([table, other], flavour="plain", **NAMED)
    with pytest.raises(UnknownNameError, match="option of reader parquet 'source'"):
        read(other, source="en")
    assert read_all([other], defaults={"source": "en"}).frame.height == 2


def test_the_same_model_and_benchmark_twice_is_refused(tmp_path):
    with pytest.raises(InputError, match="both hold m on b"):
        read([put(tmp_path, LONG), canonical(tmp_path)], **NAMED)


def test_notes_of_all_paths_are_kept(tmp_path):
    table, other = put(tmp_path, LONG.rstrip("\n")), canonical(tmp_path, model="x")
    found = read([other, table], **NAMED)
    assert any("no line end" in note for note in found.notes)


def test_a_plug_in_reads_its_format_before_tables_do(tmp_path, install):
    path = put(tmp_path, "OURS,1\n2,3\n", "log.ours")
    assert detect(path).FORMAT == "table"
    install(PLUG_IN)
    assert detect(path).FORMAT == "ours"
    assert read(path, flavour="mint").frame["model"].to_list() == ["mint"] * 2
    assert read(path, format="ours").frame["model"].to_list() == ["plain"] * 2
    with pytest.raises(UnknownNameError, match="did you mean flavour"):
        read(path, flavor="mint")
    assert "ours" not in READERS


def test_a_broken_plug_in_is_named(tmp_path, install):
    install("raise RuntimeError('boom')", name="bad", package="bad_reader")
    with pytest.raises(InputError, match=r"'bad' of bad_reader cannot be loaded.*boom"):
        read(put(tmp_path, LONG), **NAMED)


def test_a_plug_in_without_its_parts_is_named(tmp_path, install):
    install("FORMAT = 'half'", name="half", package="half_reader")
    with pytest.raises(InputError, match="has no OPTIONS, sniff, read"):
        read(put(tmp_path, LONG), **NAMED)


def test_names_are_claimed_once(tmp_path, install):
    install(PLUG_IN, name="table", package="table_reader")
    with pytest.raises(InputError, match="already brought by hatscore itself"):
        read(put(tmp_path, LONG), **NAMED)


def test_two_plug_ins_of_one_name_are_refused(tmp_path, install):
    install(PLUG_IN, name="ours", package="one_reader")
    install(PLUG_IN, name="ours", package="two_reader")
    with pytest.raises(InputError, match="'ours' of two_reader is already brought by one_reader"):
        read(put(tmp_path, LONG), **NAMED)


@pytest.mark.parametrize("reader", READERS.values(), ids=lambda r: r.FORMAT)
def test_every_reader_keeps_the_contract(reader, tmp_path):
    assert isinstance(reader.FORMAT, str)
    assert isinstance(reader.OPTIONS, tuple)
    path = put(tmp_path, "nothing at all")
    assert reader.sniff(path) is False
    (tmp_path / "empty").mkdir()
    assert reader.sniff(tmp_path / "empty") is False


def test_the_reader_in_the_documentation_works(tmp_path, install):
    page = Path(__file__).parents[2] / "docs" / "formats" / "README.md"
    code = page.read_text(encoding="utf-8").partition("```python\n")[2].partition("```")[0]
    install(code, name="ourlogs", package="ourlogs_reader")
    path = put(tmp_path, "OURLOG\n1 en 1\n1 de 0\n", "a.log")
    assert read(path).frame["k"].to_list() == [1, 0]
    with pytest.raises(HatscoreError, match=r"lacks 1 of 2 items of de: 2 .first a.log:4"):
        read(put(tmp_path, "OURLOG\n1 en 1\n1 de 0\n2 de 1\n", "a.log"), source="de")
