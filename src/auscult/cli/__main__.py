"""``python -m auscult.cli`` runs the command."""

from auscult.cli.main import main

main()
