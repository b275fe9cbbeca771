"""A second maker of mask defects: the taxonomy and IoU windows of ``auscult.stress.masks`` in other shapes.

A judge that was fitted to one maker's shapes is measured with the other's. Cutout, dilate and erode are made here;
perfect, merge and full_neg have no shape of their own and are the built-in ones.

=======  ===========================================================================
outline  errors along the outline, as a map or a shape
cutout   missing pieces: strokes, wedges, bites, holes, crops, limbs
=======  ===========================================================================
"""
