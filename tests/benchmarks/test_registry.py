from __future__ import annotations

import subprocess
import sys
from typing import TYPE_CHECKING

import pytest

from hatscore.benchmarks import get_benchmark, list_benchmarks
from hatscore.benchmarks.registry import BUILT_IN
from hatscore.errors import InputError, UnknownNameError

if TYPE_CHECKING:
    from pathlib import Path

PLUGIN = """
class Proverbs:
    name = "{name}"
    version = "1"
    title = licence = source = "t"
    languages = source_languages = ("en",)
    language_neutral_gold = False
    options = {{}}

    def load(self, *, languages, source_language, items, seed, options):
        return []

    def prompt(self, item, *, mode, prompt_language):
        raise NotImplementedError

BENCHMARK = Proverbs()
HALF = object()
"""


def install(root: Path, *, package: str, entry: str, target: str, calls_itself: str) -> None:
    # What pip leaves behind: a module and a .dist-info with metadata and entry points.
    (root / f"{package}.py").write_text(PLUGIN.format(name=calls_itself), encoding="utf-8")
    info = root / f"{package}-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text(
        f"Metadata-Version: 2.1\nName: {package}\nVersion: 1.0\n", encoding="utf-8"
    )
    (info / "entry_points.txt").write_text(
        f"[hatscore.benchmarks]\n{entry} = {package}:{target}\n", encoding="utf-8"
    )


@pytest.fixture
def site(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.syspath_prepend(str(tmp_path))
    return tmp_path


def test_list_is_sorted_and_has_the_built_in_ones() -> None:
    names = list_benchmarks()
    assert list(names) == sorted(names)
    assert set(BUILT_IN) <= set(names)


def test_unknown_name_names_the_nearest() -> None:
    with pytest.raises(UnknownNameError, match="did you mean worldfacts"):
        get_benchmark("worldfact")


def test_listing_imports_no_benchmark() -> None:
    code = (
        "import sys, hatscore.benchmarks as b; b.list_benchmarks();"
        "heavy = {'babel', 'num2words', 'polars', 'numpy', 'hatscore.benchmarks.worldfacts',"
        " 'hatscore.benchmarks.wordmath'} & set(sys.modules); print(sorted(heavy))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_plug_in_is_listed_and_loaded(site: Path) -> None:
    install(
        site, package="hs_plug_ok", entry="proverbs", target="BENCHMARK", calls_itself="proverbs"
    )
    assert "proverbs" in list_benchmarks()
    assert get_benchmark("proverbs").name == "proverbs"


def test_plug_in_may_not_hide_a_built_in_one(site: Path) -> None:
    install(site, package="hs_plug_hide", entry="worldfacts", target="BENCHMARK", calls_itself="x")
    with pytest.raises(InputError, match="built in, but hs_plug_hide"):
        get_benchmark("worldfacts")


def test_two_plug_ins_of_one_name_are_refused(site: Path) -> None:
    for package in ("hs_plug_a", "hs_plug_b"):
        install(
            site, package=package, entry="proverbs", target="BENCHMARK", calls_itself="proverbs"
        )
    with pytest.raises(InputError, match="claimed by hs_plug_a and hs_plug_b"):
        get_benchmark("proverbs")


def test_plug_in_that_is_no_benchmark_is_told_what_it_lacks(site: Path) -> None:
    install(site, package="hs_plug_half", entry="half", target="HALF", calls_itself="half")
    with pytest.raises(InputError, match=r"without language_neutral_gold, languages, .*version"):
        get_benchmark("half")


def test_plug_in_that_cannot_be_loaded_says_so(site: Path) -> None:
    install(site, package="hs_plug_gone", entry="gone", target="NOWHERE", calls_itself="gone")
    with pytest.raises(InputError, match="cannot be loaded from 'hs_plug_gone:NOWHERE'"):
        get_benchmark("gone")


def test_plug_in_under_another_name_is_refused(site: Path) -> None:
    install(site, package="hs_plug_alias", entry="alias", target="BENCHMARK", calls_itself="other")
    with pytest.raises(InputError, match="calls itself 'other'"):
        get_benchmark("alias")
