"""Verdicts into decisions: the policy, the filter, and what is handed over."""
