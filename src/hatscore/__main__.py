"""``python -m hatscore``."""

from hatscore.cli import main

main()
