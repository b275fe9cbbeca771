"""The engine of every suite: cases x conditions x models give result rows, then a grid, tables and one page.

==========  ======================================================================
conditions  a perturbation of every case and its strength
requests    the cases of a listing, the requests of a folder so far, and the key of every answer
results     result rows: one append-only file, failed requests among them
runner      asks models and scores answers, without repeating work
grid        a suite's task; model, condition and metric to the value of every case
numbers     the numbers of a grid, with interval, counts and signature
measures    levels, changes, breaking points, differences, rankings, correlations
tables      numbers to tables
charts      numbers to charts
page        numbers, tables and charts of a run, laid out on a page; the output files of a run of any suite
command     the shared steps of commands: data, folder, cases, models, end
records     a record read again and scored from its lines
data_sets   several records put together; models over several data sets
compare     records side by side
==========  ======================================================================
"""
