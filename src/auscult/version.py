"""The version of the package: the only place it is written."""

VERSION = "0.1.0"
