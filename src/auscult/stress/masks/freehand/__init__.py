"""A second maker of mask defects: the taxonomy and IoU windows of ``auscult.stress.masks`` in other shapes.

A judge that was fitted to one maker's shapes is measured with the other's. Cutout, dilate and erode are made here;
perfect, merge and full_neg have no shape of their own and are the built-in ones.

=======  ===========================================================================
edges    what is drawn for an error along the outline, as a map or a shape
outline  choose and render an error along the outline
cutout   missing pieces: strokes, wedges, bites, holes, crops, limbs
=======  ===========================================================================
"""
