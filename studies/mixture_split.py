"""Write the committed split of recordings, ``scenes/mixtures/split.json``: ``python -m studies.mixture_split DATA``.

A file is known by a hash of its bytes, wherever it lies. Clips of one recording or series are one recording, and so are
all digits of one speaker but those that outputs of real separators were made of.
"""

from __future__ import annotations

import csv
import json
import re
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Final, NamedTuple

from auscult.errors import InputError
from auscult.scenes.mixtures.catalogue import (
    PARTS,
    SPLIT,
    UNSEEN_SHARE,
    Part,
    committed_classes,
    content_key,
    part_of,
    share_of,
)
from auscult.scenes.sound.folder import read_clip

RULE: Final = (
    "the recordings of a class ordered by blake2b-64 of their names: the first half train, the next fifth calibration, "
    "the rest test; unseen: of the classes of a domain with ten recordings or more, and of those with fewer, the first "
    "quarter in that order of those that no real separator's output for training or calibration was made of; all their "
    "recordings, and what may only be tested on, are test; a recording that such outputs were made of has their part"
)
MANY: Final = 10
_NAMES: Final = """\
baby: baby_cry
clock: clock_tick, clock ticking
dog: dog_bark, dog_audio
fire: fire_crackling
sea waves: sea_waves
sneeze: person_sneeze
bass guitar: bass, bass_woodsy
bottle: bottle_blow
tin can: can
saxophone: sax
car door: car_door
car horn: car_horn
door creaking: door_squeak
woman singing: femalevoice
fire hose: fire_hose
glass breaking: glass_break
glass harmonica: glass_harmonica, glass_tone
rattle: goat_hoof
man singing: malevoice
paper tearing: paper_rip
snare drum: snare, drum_snare, sn_, snare_drum
thunder drum: thunder_drum
vacuum cleaner: vacuum
footsteps: walking
wind-up toy: wind_up_toy
kick drum: bd_, drum_bass, drum_heavy_kick
cowbell: drum_cowbell
cymbal: drum_cymbal, drum_splash
tom drum: drum_tom
tabla: tabla_
choir: ambi_choir
burp: misc_burp
crow: misc_crow
bell: church bell
elephant: elephant trumpet
jaguar: jaguar saw
lion: lion bellow
rattlesnake: snake rattle
turkey: turkey gobble
woodpecker: woodpecker peck
chicken: chickens, hen
flute: flute_traversiere
french horn: horn
electric guitar: electric_guitar
bird: bird_audio
car engine: car_audio
duck: drake
goose: gander
cow: bull
sheep: sheep_lamb, ram
pig: pig_golden
whale: orca
chimpanzee: chimp
deer: doe
gun being cocked: pistol cock, rifle cock, shotgun pump, pistol reload
"""
RENAMED: Final = {
    name: label
    for label, _, names in (row.partition(": ") for row in _NAMES.splitlines())
    for name in names.split(", ")
}
"""Class of a file by the longest of these that its name begins with, else of its folder."""
LEFT_OUT: Final = (
    *("animal_vocal", "bottle_1", "bottle_tone", "ambi_soft_buzz", "perc_", "vinyl", "lark", "tucan", "xanthia"),
    *("badger", "beaver"),  # one sound under two names
    *(
        "rifle fire cock",
        "pistol fire dry",
        "ricochet",
        "camera",
        "scissors",
        "9_pluto",
        "firetruck",
        "biting an apple",
    ),
    *("machine gun", "drumkit"),  # a burst of shots, and whole rhythms, are several sounds
)
"""Files whose name says too little of what is heard, or whose sound is not what the name says."""
NAMED: Final = {
    "456440": ("bird", "freesound-456440"),
    "Kevin_MacLeod_-_P_I": ("orchestra", "sugar-plum-fairy"),
    "Kevin_MacLeod_-_Vibe": ("jazz band", "vibe-ace"),
    "glacier": ("whale", "glacier-bay-humpback"),
    "sorohanro": ("trumpet", "sorohanro-trumpet"),
    "198-": ("woman speaking", "librispeech-198"),
    "3436-": ("man speaking", "librispeech-3436"),
    "5703-": ("man speaking", "librispeech-5703"),
}
TESTS_ONLY: Final = ("av/",)


class Known(NamedTuple):
    """A file of sound and what is known of it."""

    path: Path
    label: str
    recording: str
    voice: str
    tests_only: bool = False


def say(line: str) -> None:
    """Tell what was not used."""
    sys.stderr.write(f"{line}\n")


def listed(data: Path) -> Iterator[Known]:
    """All recordings of the collections."""
    for row in _rows(data / "audio" / "esc10" / "clips.csv"):
        recording = f"freesound-{row['freesound_id']}"
        yield Known(data / row["file"], RENAMED.get(row["class"], row["class"]), recording, recording)
    for row in _rows(data / "sound" / "recordings" / "clips.csv"):
        path = data / "sound" / "recordings" / row["file"]
        yield Known(path, RENAMED.get(row["cls"], row["cls"]), row["recording"], row["recording"])
    for folder in ("music_and_nature", "speech_librispeech"):
        for path in sorted((data / "audio" / folder).glob("*.ogg")):
            label, recording = next(found for name, found in NAMED.items() if path.name.startswith(name))
            yield Known(path, label, recording, recording)
    for path in sorted((data / "audio" / "speech_fsdd").glob("*.wav")):
        yield Known(path, "man speaking", f"fsdd-{path.stem}", f"fsdd-{path.stem.split('_')[1]}")
    for path in sorted((data / "audio" / "speech_asterisk").glob("*.wav")):
        yield Known(path, "woman speaking", f"asterisk-{path.stem}", "asterisk")
    for place in ("audio/berklee", "audio/sonic_pi_cc0", "av/image_sound_pairs", "images/stamps_gpl2/animals"):
        for path in sorted((data / place).rglob("*.*")):
            if path.suffix in {".mp3", ".flac", ".ogg", ".wav"} and not path.stem.endswith("_desc"):
                yield _by_name(path, data=data)


def _by_name(path: Path, *, data: Path) -> Known:
    name, folder = path.stem, path.parent.name
    starts = [start for start in RENAMED if name.startswith(start)]
    own = folder if "berklee" in path.parts else re.sub(r"[-_]?\d.*$", "", name).replace("_", " ")
    label = RENAMED[max(starts, key=len)] if starts else RENAMED.get(own, own)
    series = re.sub(r"_?\d+[a-z]?$", "", name.casefold())
    return Known(
        path, label, f"{folder}-{series}", f"{folder}-{label}", str(path.relative_to(data)).startswith(TESTS_ONLY)
    )


def pictured(data: Path) -> Iterator[tuple[Path, str, bool]]:
    """Pictures of what makes a sound: file, class, whether they are for tests only."""
    for row in _rows(data / "images" / "stamps_gpl2" / "stamps.csv"):
        name = re.sub(r"^(a|an) ", "", row["name_en"].strip().rstrip(".!").casefold())
        yield data / "images" / "stamps_gpl2" / row["png"], name, False
    for path in sorted((data / "av" / "image_sound_pairs").rglob("*.*")):
        if path.suffix in {".webp", ".jpg"}:
            yield path, path.stem.removesuffix("_image").replace("car", "car engine"), True


def _rows(path: Path) -> Iterator[dict[str, str]]:
    with path.open(encoding="utf-8", newline="") as file:
        yield from csv.DictReader(file)


def usable(data: Path) -> dict[str, Known]:
    """The recordings that can be read, by content key; of two with one content the first."""
    found: dict[str, Known] = {}
    contents: dict[bytes, str] = {}
    for known in listed(data):
        if known.path.stem.startswith(LEFT_OUT) or known.label.startswith(LEFT_OUT):
            continue
        try:
            clip = read_clip(known.path)
        except InputError as error:
            say(f"left out: {error}")
            continue
        if known.label not in committed_classes().classes:
            say(f"no class: {known.label} ({known.path.name})")
        first = contents.setdefault(clip.samples.tobytes(), known.recording)
        if first == known.recording:
            found[content_key(known.path)] = known
        else:
            say(f"same content: {known.path} is of {first}")
    return found


def heard_elsewhere(data: Path, found: dict[str, Known]) -> dict[str, Part]:
    """The part of each recording that outputs of real separators were made of: theirs, the first where two differ."""
    names: dict[str, Part] = {"train": "train", "val": "calibration", "test": "test"}
    parts: dict[str, Part] = {}
    for line in (data / "sound" / "separated" / "mixtures.jsonl").read_text(encoding="utf-8").splitlines():
        row = json.loads(line)
        for source in "+".join(row["sources"]).split("+"):
            path = data / "audio" / source.partition("@")[0]
            known = found.get(content_key(path)) if path.is_file() else None
            if known is not None:
                part = names[row["mixture_split"]]
                parts[known.recording] = min(part, parts.get(known.recording, part), key=PARTS.index)
    return parts


def dealt(files: Iterable[Known], given: dict[str, Part]) -> tuple[dict[str, Part], set[str]]:
    """The part of each recording, some of which are given, and the unseen classes."""
    recordings: dict[str, list[str]] = {}
    tests = {known.recording for known in files if known.tests_only}
    for known in files:
        names = recordings.setdefault(known.label, [])
        if known.recording not in names:
            names.append(known.recording)
    parts: dict[str, Part] = {**dict.fromkeys(tests, "test"), **given}
    heard = {label for label, names in recordings.items() if any(given.get(name, "test") != "test" for name in names)}
    alike: dict[tuple[str, bool], list[str]] = {}
    for label, names in recordings.items():
        alike.setdefault((committed_classes().of(label).domain, len(names) >= MANY), []).append(label)
    unseen = {
        label
        for labels in alike.values()
        for label in sorted(set(labels) - heard, key=share_of)[: int(UNSEEN_SHARE * len(labels))]
    }
    for label in sorted(recordings, key=lambda label: label not in unseen):
        free = sorted((name for name in recordings[label] if name not in parts), key=share_of)
        train, calibration = (0, 0) if label in unseen else (-(-len(free) // 2), int(0.2 * len(free) + 0.3))
        for at, name in enumerate(free):
            parts[name] = "train" if at < train else "calibration" if at < train + calibration else "test"
    return parts, unseen


def main(data: Path) -> None:
    """Read every file once, and write the split."""
    found = usable(data)
    given = heard_elsewhere(data, found)
    for key, known in found.items():  # the other digits of a speaker stay together
        if known.voice.startswith("fsdd-") and known.recording not in given:
            found[key] = known._replace(recording=known.voice)
    parts, unseen = dealt(found.values(), given)
    files = {key: [known.label, known.recording, known.voice] for key, known in found.items()}
    labels = {known.label for known in found.values()}
    for path, label, tests_only in pictured(data):
        if label in labels:
            name = f"picture-{path.parent.name}-{path.stem}"
            parts[name] = "test" if tests_only else part_of(path.stem, seen=label not in unseen)
            files[content_key(path)] = [label, name, name]
    lines = [f'"rule": {json.dumps(RULE)}', f'"unseen": {json.dumps(sorted(unseen))}']
    for name, table in (("recordings", parts), ("files", files)):
        rows = ",\n".join(f"  {json.dumps(key)}: {json.dumps(value)}" for key, value in sorted(table.items()))
        lines.append(f'"{name}": {{\n{rows}\n }}')
    SPLIT.write_text("{\n " + ",\n ".join(lines) + "\n}\n", encoding="utf-8")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
