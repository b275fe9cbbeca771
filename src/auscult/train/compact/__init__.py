"""The recipe of `masks.compact.v1`: pack, batches, training, export, calibration."""
