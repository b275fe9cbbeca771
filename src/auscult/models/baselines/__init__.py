"""Models that look at nothing, or nearly: what a real model has to beat before its curve says anything."""
