"""Sums over pairs of bodies and what is read off them: closed-form joints, noise, windows, the best tree."""
