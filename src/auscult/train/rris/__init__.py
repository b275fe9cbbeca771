"""Training of segmenters that can answer with nothing, Sec. 4.3 of Wu et al. 2024."""
