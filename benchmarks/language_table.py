"""Make src/hatscore/studies/languages.toml: family, speakers and Wikipedia articles per language.

Run in an environment with qwanqwa, which needs seconds and 100 MB to load and is therefore no
dependency of the package:

    pip install qwanqwa==1.2.1
    python benchmarks/language_table.py > src/hatscore/studies/languages.toml
"""

from importlib.metadata import version

from qq import Database

TAGS = [
    "af", "am", "ar", "as", "az", "be", "bg", "bn", "bs", "ca", "cs", "cy", "da", "de", "el",
    "en", "es", "et", "eu", "fa", "fi", "fil", "fr", "ga", "gl", "gu", "ha", "he", "hi", "hr",
    "hu", "hy", "id", "ig", "is", "it", "ja", "jv", "ka", "kk", "km", "kn", "ko", "ky", "lo",
    "lt", "lv", "mg", "mi", "mk", "ml", "mn", "mr", "ms", "mt", "my", "ne", "nl", "no", "nb",
    "ny", "or", "pa", "pl", "ps", "pt", "qu", "ro", "ru", "rw", "sd", "si", "sk", "sl", "sm",
    "sn", "so", "sq", "sr", "st", "su", "sv", "sw", "ta", "te", "tg", "th", "tk", "tl", "tn",
    "tr", "tt", "ug", "uk", "ur", "uz", "vi", "wo", "xh", "yi", "yo", "zh", "zu",
]  # fmt: skip
HEAD = f"""\
# Family, speakers and size of the Wikipedia of languages, by BCP 47 tag.
#
# Made by benchmarks/language_table.py from qwanqwa {version("qwanqwa")}, which holds the families
# of Glottolog (CC BY 4.0) and the speakers of LinguaMeta (CC BY 4.0). A macrolanguage has the
# family of its standard member, a language without relatives one of its own. The number of
# Wikipedia articles stands for the resources of a language.
"""


# ISO 639-3: the member that stands for a macrolanguage
MEMBER = {
    "ar": "arb", "az": "azj", "et": "ekk", "fa": "pes", "mg": "plt", "ms": "zsm", "or": "ory",
    "qu": "quz", "sw": "swh", "yi": "ydd", "zh": "cmn",
}  # fmt: skip


def family_of(tag):
    root = database.get(MEMBER.get(tag, tag)).root_family
    return f"{database.get(tag).name} (no relatives)" if root is None else root.name


database = Database.load()
print(HEAD)
for tag in TAGS:
    language = database.get(tag)
    fields = [f'family = "{family_of(tag)}"']
    if language.speaker_count:
        fields.append(f"speakers = {language.speaker_count}")
    if language.wikipedia and language.wikipedia.article_count:
        fields.append(f"articles = {language.wikipedia.article_count}")
    print(f"{tag} = {{ {', '.join(fields)} }}")
