"""Which perturbations occur in which situation, and the planner without a language model that uses it.

``situations.json`` holds situations (a video call, rain, a cheap microphone) with their terms, what each is a case of
(``is``), and which perturbations are needed, plausible or impossible there. A line inherits what it leaves out.
"""

from auscult.agent.knowledge.planner import BuiltInDebater
from auscult.agent.knowledge.sentence import Reading, read_sentence
from auscult.agent.knowledge.situations import Cell, cell, kinds, situation_rows, situations

__all__ = ["BuiltInDebater", "Cell", "Reading", "cell", "kinds", "read_sentence", "situation_rows", "situations"]
