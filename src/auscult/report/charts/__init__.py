"""Charts of robustness: each a pure function from numbers with intervals to a ``media.drawing.Drawing``.

=======  ==================================================================
values   numbers with intervals, or the lack of them; words around a chart
lines    score over strength, the dynamic condition, breaking points
bars     change per type of perturbation
matrix   correlations between types
paired   two conditions side by side
ranks    the order of models and how sure it is
axes     scales and round numbers
marks    colours, marks and dashes; whiskers; legends
rows     the columns that charts of rows share
=======  ==================================================================
"""
