"""Training of SAJ, the full judge of separated sounds (SAM Audio Judge, Sec. III-B)."""
