"""Real cut-outs, sounds and photographs of the data folder laid out as a folder of scene assets.

Out of ``images/stamps_gpl2`` (RGBA cut-outs, some with their own sound), ``audio/esc10``, ``audio/berklee`` and
``images/coco`` come ``cutouts/<category>/``, ``sounds/<label>/`` and ``backgrounds/`` with ``names.csv``: what a
photograph is known to hold, so that no scene asks for a thing that its background shows as well. Nothing of it may be
passed on: each source keeps its own licence.
"""

from __future__ import annotations

import csv
import json
import re
import shutil
from collections.abc import Collection, Sequence
from pathlib import Path

MOST_HELD = 0.5  # a photograph that is mostly objects leaves no room for others

NAMES = {
    "brown hen": "hen", "colorful rooster": "rooster", "pink flamingo": "flamingo", "great blue heron": "heron",
    "george the blue groper": "groper", "very poisonous lionfish": "lionfish", "baby sheep (a lamb)": "lamb",
    "tamworth pig": "pig", "little rabbit": "rabbit", "pair of cherries": "", "green apple": "apple",
    "“sierra beauty” apple": "apple", "avocado fruit": "avocado", "cherimoya fruit": "cherimoya",
    "bunch of grapes": "", "mandarin orange": "orange", "sliced lime": "lime", "sliced orange": "orange",
    "walnut in its shell": "walnut", "eat your broccoli": "", "garlic bulb": "garlic bulb",
    "very small pumpkin": "pumpkin", "head of red lettuce": "lettuce", "floor tom drum": "drum",
    "drum kit": "drum kit", "classical guitar": "guitar", "electric guitar": "guitar",
    "pair of closed scissors": "", "very small pitcher": "pitcher", "home compost bin": "bin",
    "large paintbrush": "paintbrush", "pair of pliers": "", "adjustable wrench": "wrench", "eye": "",
    "grandma’s old rag doll": "doll", "adenium (desert rose)": "flower", "red and white anemone flower": "flower",
    "anthurium": "flower", "hibiscus flower": "flower", "iris": "flower", "marigold": "flower",
    "white star petunia": "flower", "yellow flower": "flower", "red headed cep": "mushroom",
    "pili nut tree": "tree", "palm tree": "tree", "american football": "football", "rugby goal posts": "",
    "vw beetle": "car", "sedan car": "car", "sports car": "car", "pink tricycle": "tricycle",
    "old chinese sailing ship": "ship", "hot air balloon": "balloon", "chimpanzee": "chimpanzee",
    "xanthia": "moth", "guinea fowl": "guinea fowl", "sea lion": "sea lion",
}  # fmt: skip

SOUNDS = {"dog_bark": "dog", "baby_cry": "baby", "clock_tick": "clock", "person_sneeze": "person"}

VERBS = {
    "dog": ("bark", "barks"), "rooster": ("crow", "crows"), "chainsaw": ("chainsaw", "whines"),
    "bell": ("bell", "rings"), "drum": ("drum", "beats"), "cow": ("moo", "moos"), "duck": ("quack", "quacks"),
    "sheep": ("bleat", "bleats"), "goat": ("bleat", "bleats"), "pig": ("grunt", "grunts"),
    "lamb": ("bleat", "bleats"), "owl": ("hoot", "hoots"), "horse": ("neigh", "neighs"), "bee": ("buzz", "buzzes"),
    "hornet": ("buzz", "buzzes"), "tiger": ("roar", "roars"), "bull": ("bellow", "bellows"),
    "elephant": ("trumpet", "trumpets"), "donkey": ("bray", "brays"),
}  # fmt: skip


def lay_out(data: Path, out: Path, *, photographs: Collection[str] | None = None) -> None:
    """Copy what has a clean name into the three folders."""
    cutouts(data, out)
    sounds(data, out)
    backgrounds(data, out, photographs=photographs)


def cutouts(data: Path, out: Path) -> None:
    """Cut-outs by category, and the sounds that belong to them."""
    root = data / "images" / "stamps_gpl2"
    labels = set()
    for row in read(root / "stamps.csv"):
        name = category(row["name_en"])
        if not name:
            continue
        put(root / row["png"], out / "cutouts" / name)
        if row["sound_of_it"]:
            put(root / row["sound_of_it"], out / "sounds" / name)
            labels.add(name)
    rows = [(label, *VERBS[label]) for label in sorted(VERBS)]
    write(out / "sounds" / "verbs.csv", ("label", "noun", "verb"), rows)


def sounds(data: Path, out: Path) -> None:
    """Labelled clips of the two collections."""
    for row in read(data / "audio" / "esc10" / "clips.csv"):
        label = SOUNDS.get(row["class"], row["class"].replace("_", " "))
        put(data / row["file"], out / "sounds" / label)
    for folder in sorted(path for path in (data / "audio" / "berklee").iterdir() if path.is_dir()):
        for path in sorted(folder.iterdir()):
            put(path, out / "sounds" / folder.name)


def backgrounds(data: Path, out: Path, *, photographs: Collection[str] | None = None) -> None:
    """Photographs with room for other things, and what they are known to hold."""
    root = data / "images" / "coco"
    listing = json.loads((root / "instances.json").read_text(encoding="utf-8"))
    names = {row["id"]: row["name"] for row in listing["categories"]}
    rows = []
    for picture in listing["images"]:
        objects = [row for row in listing["annotations"] if row["image_id"] == picture["id"]]
        if photographs is not None and picture["file_name"] not in photographs:
            continue
        if sum(row["area"] for row in objects) > MOST_HELD * picture["width"] * picture["height"]:
            continue
        put(root / "images" / picture["file_name"], out / "backgrounds")
        rows += [(picture["file_name"], name) for name in sorted({names[row["category_id"]] for row in objects})]
    write(out / "backgrounds" / "names.csv", ("file", "name"), rows)


def category(title: str) -> str:
    """A countable noun out of a title, or nothing."""
    plain = re.sub(r"^(a|an|our|the) ", "", title.strip().rstrip(".!,").lower())
    if plain in NAMES:
        return NAMES[plain]
    return plain if re.fullmatch(r"[a-z]+( [a-z]+)?", plain) else ""


def put(source: Path, folder: Path) -> None:
    """Copy a file into a folder, made if missing."""
    folder.mkdir(parents=True, exist_ok=True)
    shutil.copyfile(source, folder / source.name)


def read(path: Path) -> list[dict[str, str]]:
    """The rows of a CSV file."""
    with path.open(encoding="utf-8", newline="") as lines:
        return list(csv.DictReader(lines))


def write(path: Path, header: tuple[str, ...], rows: Sequence[tuple[str, ...]]) -> None:
    """Write a CSV file."""
    with path.open("w", encoding="utf-8", newline="") as lines:
        writer = csv.writer(lines)
        writer.writerow(header)
        writer.writerows(rows)
