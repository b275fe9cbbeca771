"""Quality cards: what was measured of a judge, on what. No card, no judge.

A built-in judge's card is ``<name>.json`` in this folder; a plug-in's judge names its file in an attribute ``card``.
The page under ``docs/cards`` is generated from the card by ``page``.
"""

from auscult.judge.cards.card import Card, Result, card_of, load_card, page, require_card

__all__ = ["Card", "Result", "card_of", "load_card", "page", "require_card"]
