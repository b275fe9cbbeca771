"""Prompts for real mixtures that nobody labelled: what a tagger hears in each becomes a line of an INPUT.

Run: python examples/prompts_of_mixtures.py FOLDER sound.compact.v1 > FOLDER/items.jsonl

Each sound that is heard with a probability of .3 or more is one item, ``auscult run separation`` and ``auscult audit``
take the file as it is. There is no truth in it. With ``clap@WEIGHTS`` further words are the labels it chooses from.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

from auscult.media.sound import SOUND_SUFFIXES, read_sound
from auscult.models.sound_taggers import heard_prompts, load_tagger
from auscult.nets.hf_sounds import Clap

folder, given, *labels = sys.argv[1:]
tagger = load_tagger(given)
if isinstance(tagger, Clap):
    tagger.labels = tuple(labels)
for path in sorted(Path(folder).iterdir()):
    if path.suffix.lower() in SOUND_SUFFIXES:
        sound = read_sound(path)
        for text, value in heard_prompts(tagger, sound.samples, rate_hz=sound.rate_hz).items():
            item = {"id": f"{path.stem}/{text}", "mixture": path.name, "text": text, "heard": round(value, 3)}
            print(json.dumps(item))
