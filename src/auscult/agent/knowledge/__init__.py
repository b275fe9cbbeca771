"""What occurs in which situation, sentences read by it, and the planner that needs no language model.

``situations.json`` holds situations (a video call, rain, a cheap microphone) with their terms, what each is a case of
(``is``), and which perturbations are needed, plausible or impossible there; what a line leaves out it inherits.
"""

from auscult.agent.knowledge.planner import BuiltInDebater
from auscult.agent.knowledge.sentence import Reading, read_sentence
from auscult.agent.knowledge.situations import Cell, cell, kinds, situation_rows, situations

__all__ = ["BuiltInDebater", "Cell", "Reading", "cell", "kinds", "read_sentence", "situation_rows", "situations"]
