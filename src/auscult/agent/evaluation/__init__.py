"""How well a planner chooses, measured against labelled instructions (R2-Bench, Sec. 5.4 and Table 7).

==============  ============================================================================================
guideline.txt   what needed, plausible and impossible mean; how instructions are labelled
samples.jsonl   a fixed pool of samples: captions and facts, written for this measurement
labels          labelled instructions: reading and checking; ACC, Rate and agreement of two labellings
==============  ============================================================================================
"""
