"""A second maker of mask defects: the taxonomy and IoU windows of ``auscult.stress.masks`` in other shapes.

A judge that was fitted to one maker's shapes is measured with the other's. Cutout, dilate and erode are made here;
perfect, merge and full_neg have no shape of their own and are the built-in ones.

=========  ==============================================================
levels     how far a defect goes, so that the IoU lies in the window
grids      smooth maps on a coarse grid
edges      what is drawn for an error along the outline
edge_maps  lobes, soft edges, low resolution
shapes     lag and few corners
outline    choose and render an error along the outline
losses     missing pieces: strokes, wedges, bites, holes, crops, limbs
=========  ==============================================================
"""
