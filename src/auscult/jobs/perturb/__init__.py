"""``auscult stress vision|sound|sentences|timing|recipe``: perturbed copies of an INPUT, a folder for each recipe."""
