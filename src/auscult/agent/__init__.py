"""From one sentence to a robustness study: a plan a person can read and run, a run, and a written analysis.

==========  ===================================================================================================
offers      what a suite offers for a task and data
captions    what is known of a sample: from scenes, EXIF, pictures and sounds, or a chat model
knowledge   what occurs in which situation; the planner that needs no language model
debate      what is chosen (samples, perturbations, metrics): operator and guardian propose and verify in rounds
plan        ``plan.yaml``: reading, checking, writing
running     a plan through its suite
analysis    the numbers of a record as prose, each checked
questions   questions about a record, answered by read-only queries
==========  ===================================================================================================

Source: R2-Bench, Sec. 4. The agent proposes plans and writes prose; it never writes a score.
"""
