"""``python -m hatscore.cli``."""

from hatscore.cli import main

main()
