"""The questions of the study, one module each, over any set of scored runs.

`material.gather` makes what they all work on, each module holds a function of its own name that
returns a `result.Analysis`, and `analyses.analyse` calls them all.
"""
