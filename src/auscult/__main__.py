"""``python -m auscult`` runs the command."""

from auscult.cli.main import main

main()
