"""Lays out what a record holds: overlays, tables, one self-contained HTML file. Computes nothing.

Counting rows for a chart and sorting them for reading is layout; every metric comes from the record's summary
and tables.

========  ==================================================
overlay   a mask drawn on its frame: thumbnail, crop
order     worst first
words     words and number formats
facts     what a record says of itself
svg       small charts as inline SVG
tables    tables ready to print on a console
truth     judge against truth: finished tables and a scatter
page      everything the HTML file shows, as one value
html      that value as one file
curves    line charts as inline SVG
suite     the page of a benchmark
clips     the page's part on video
latex     tables as CSV and LaTeX
charts    charts of robustness, as drawings
strip     frames, masks and scores of one perturbation
========  ==================================================
"""
