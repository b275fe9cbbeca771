"""The engine of every suite: cases x conditions x models to result rows, from these a grid, tables and one page.

==========  ======================================================================
conditions  what is done to every case, at which strength
requests    what a folder has asked its models so far, and the key of every answer
results     result rows: one append-only file, failed requests among them
runner      models asked and answers scored, each only where it has not been done
grid        a suite's task; model, condition and metric to the value of every case
numbers     what a grid comes to, with interval, counts and signature
measures    levels, changes, breaking points, differences, rankings, correlations
tables      numbers to tables
charts      numbers to charts
page        all that follows from the scores of a run, laid out and written
finish      the files of a run's end, whichever suite made them
records     a record read again and scored from its lines
data_sets   several records put together; models over several data sets
compare     records side by side
==========  ======================================================================
"""
