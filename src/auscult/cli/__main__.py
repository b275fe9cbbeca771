"""Lets ``python -m auscult.cli`` be the command."""

from auscult.cli.main import main

main()
