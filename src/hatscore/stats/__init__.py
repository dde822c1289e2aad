"""Estimators: NumPy arrays in, frozen results out."""
