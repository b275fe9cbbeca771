"""The benchmarks: which cases, stress, models, scores, judges and tables."""
