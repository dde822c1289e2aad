"""What the entry point of this package loads: importing it registers everything with inspect_ai.

Inspect loads it at every start, so nothing is read here: a benchmark's data are loaded when its
task is made.
"""

import hatscore.inspect  # noqa: F401 - the import registers what the package offers
