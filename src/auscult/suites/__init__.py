"""The benchmarks: each combines cases, stress, models or judges, scores and tables."""
