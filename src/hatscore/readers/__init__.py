"""Foreign formats into Outcomes."""
