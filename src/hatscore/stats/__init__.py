"""Estimators: NumPy arrays in, frozen results out. Needs NumPy and SciPy alone."""

from hatscore.stats.classical import CLASSICAL, classical_scores
from hatscore.stats.estimate import Estimate, combine, difference, mean, mean_of_shares
from hatscore.stats.hat import hat_macro, hat_score, hat_scores
from hatscore.stats.intervals import wilson
from hatscore.stats.profile import Profile, profile
from hatscore.stats.simulate import Simulated, simulate

__all__ = [
    "CLASSICAL",
    "Estimate",
    "Profile",
    "Simulated",
    "classical_scores",
    "combine",
    "difference",
    "hat_macro",
    "hat_score",
    "hat_scores",
    "mean",
    "mean_of_shares",
    "profile",
    "simulate",
    "wilson",
]
