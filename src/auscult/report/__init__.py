"""Lays out what a record holds: overlays, tables, charts, one self-contained HTML file. Computes nothing.

Counting rows for a chart and sorting them for reading is layout; every metric comes from the record's summary
and tables.

========  ================================================================================
drawing   charts as values of lines and words; SVG, markup and PNG of them
charts    charts, as drawings
overlay   a mask drawn on its frame: thumbnail, crop
strip     frames, masks and scores of one perturbation
facts     order, words and number formats; what a record says of itself
tables    tables for a console, a page, CSV and LaTeX
page      the page of every report as plain values, and the one way from there to HTML
audit     that page, filled from an audit
clips     its part on video
suite     that page, kept in the record of a suite or a comparison
========  ================================================================================
"""
