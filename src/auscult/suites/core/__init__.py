"""The engine of every suite: cases x conditions x models to result rows, from these a grid, tables and one page.

==========  ======================================================================
conditions  what is done to every case, at which strength
requests    the requests of a folder so far, and the key of every answer
results     result rows: one append-only file, failed requests among them
runner      asks models and scores answers, each only where it has not been done
grid        a suite's task; model, condition and metric to the value of every case
numbers     the numbers of a grid, with interval, counts and signature
measures    levels, changes, breaking points, differences, rankings, correlations
tables      numbers to tables
charts      numbers to charts
page        numbers, tables and charts of a run, laid out on a page; the output files of a run of any suite
command     what commands of suites of models have in common: data, folder, cases, models, end
records     a record read again and scored from its lines
data_sets   several records put together; models over several data sets
compare     records side by side
==========  ======================================================================
"""
