"""Rows of sinograms less the parabola that fits them."""
