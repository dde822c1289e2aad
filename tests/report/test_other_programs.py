"""What other programs make of the files: a spreadsheet of the CSV, TeX of the LaTeX table."""

from __future__ import annotations

import shutil
import subprocess
import zipfile
from xml.etree import ElementTree as ET

import polars as pl
import pytest

from hatscore import measure
from hatscore.cli import main
from hatscore.report import to_csv, to_latex

NAMES = ("বাংলা মডেল", "模型-7B", "نموذج", "ሞዴል", 'a "quoted", 50 % & _odd_ #1 ~x^2 \\z {b} $')
SHEET = "{http://schemas.openxmlformats.org/spreadsheetml/2006/main}"


def run(command, where):
    return subprocess.run(
        command, cwd=where, capture_output=True, text=True, check=False, timeout=120
    )


def cells(path):
    """Return the rows of the first sheet as texts and floats."""
    with zipfile.ZipFile(path) as book:
        strings = [
            "".join(part.text or "" for part in entry.iter(f"{SHEET}t"))
            for entry in ET.fromstring(book.read("xl/sharedStrings.xml"))  # noqa: S314 - written by LibreOffice
        ]
        sheet = ET.fromstring(book.read("xl/worksheets/sheet1.xml"))  # noqa: S314 - as above
    rows = []
    for row in sheet.iter(f"{SHEET}row"):
        found = []
        for cell in row:
            value = cell.find(f"{SHEET}v")
            if value is None:
                found.append(None)
            elif cell.get("t") == "s":
                found.append(strings[int(value.text)])
            else:
                found.append(float(value.text))
        rows.append(found)
    return rows


def typeset(program, table, where):
    """Set a table in a column of a paper, not indented as in a float; no error of TeX passes."""
    head = r"\usepackage[T1]{fontenc}" if program == "pdflatex" else ""
    (where / "t.tex").write_text(
        r"\documentclass{article}\usepackage{booktabs}"
        + head
        + r"\begin{document}\noindent "
        + table
        + r"\end{document}",
        encoding="utf-8",
    )
    done = run([program, "-interaction=nonstopmode", "-halt-on-error", "t.tex"], where)
    assert done.returncode == 0, done.stdout[-1500:]
    return done


@pytest.mark.skipif(
    shutil.which("soffice") is None, reason="needs LibreOffice: apt-get install libreoffice-calc"
)
def test_libreoffice_reads_the_csv_with_its_scripts_and_numbers(simulated, tmp_path):
    found = measure(simulated(NAMES, ("sw",)))
    (tmp_path / "scores.csv").write_text(to_csv(found), encoding="utf-8")
    # the settings that the import dialog shows for a file with a byte order mark: without a
    # window nobody looks for the mark, and the file would be read as Windows-1252
    utf8 = "--infilter=CSV:44,34,76,1"
    done = run(
        ["soffice", f"-env:UserInstallation=file://{tmp_path}/profile", "--headless",
         utf8, "--convert-to", "xlsx", "scores.csv"],
        tmp_path,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    header, *rows = cells(tmp_path / "scores.xlsx")
    read = [dict(zip(header, row, strict=False)) for row in rows]
    assert [row["model"] for row in read] == found["model"].to_list()
    for row, hat in zip(read, found["hat"], strict=True):
        assert row["hat"] == pytest.approx(hat, abs=1e-12)


@pytest.mark.parametrize("program", ["pdflatex", "xelatex"])
def test_tex_sets_the_table_with_every_odd_character(simulated, tmp_path, program):
    if shutil.which(program) is None:
        pytest.skip(f"needs {program}: apt-get install texlive-xetex texlive-latex-recommended")
    names = NAMES if program == "xelatex" else NAMES[-1:]
    found = measure(simulated(names, ("sw", "bn")))
    table = to_latex(found)
    assert r"\toprule" in table
    done = typeset(program, table, tmp_path)
    if len(found["model"].unique()) == 1:
        assert "Overfull" not in done.stdout
    assert (tmp_path / "t.pdf").stat().st_size > 0


@pytest.mark.skipif(
    shutil.which("pdflatex") is None,
    reason="needs pdflatex: apt-get install texlive-latex-recommended",
)
@pytest.mark.parametrize("more", [(), ("--scores", "all"), ("--confidence", "0.999")])
def test_a_comparison_fits_a_page(simulated, unbounded, tmp_path, capsys, more):
    name = "lab/a_model_with_a_very_long_name-of-70B-instruct"
    frames = [simulated((name, "b"), ("zh-Hans", "sw")).frame, unbounded(name).frame,
              unbounded("b").frame]  # fmt: skip
    frames[1:] = [frame.with_columns(benchmark=pl.lit("open")) for frame in frames[1:]]
    pl.concat(frames).write_parquet(tmp_path / "o.parquet")
    with pytest.raises(SystemExit) as end:
        main(["compare", str(tmp_path / "o.parquet"), name, "b", "--format", "latex", *more])
    assert end.value.code == 0
    table = capsys.readouterr().out
    assert "zh-Hans" in table
    assert "Overfull" not in typeset("pdflatex", table, tmp_path).stdout
