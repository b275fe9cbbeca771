"""Charts: each a pure function from numbers, most with intervals, to a ``report.drawing.Drawing``.

=====  ===========================================================================================
basic  histograms, lying bars, scatters and lines over two axes
lines  score over strength with the dynamic condition and breaking points; correlations of types
bars   change per type; two conditions side by side; the order of models and how sure it is
marks  what they share: scales, round numbers, estimates and their words, marks, whiskers, legends
=====  ===========================================================================================
"""
