"""The full judge of separated sounds (SAM Audio Judge, Sec. III-B, Fig. 3), and its published variant."""
