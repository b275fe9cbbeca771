"""RefSegformer (Wu et al. 2024, Sec. 4) and its options; encoders from folders of weights, or small ones of our own."""
