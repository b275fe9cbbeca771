"""Common things that photographs show: what a region is compared with where a word for it is looked for.

A list of everyday English nouns, ours; it is no vocabulary of any data set.
"""

from __future__ import annotations

from typing import Final

NOUNS: Final[tuple[str, ...]] = (
    *("person", "man", "woman", "child", "baby", "hand", "face", "dog", "cat", "horse", "cow", "sheep", "goat"),
    *("pig", "rabbit", "mouse", "bear", "elephant", "giraffe", "zebra", "monkey", "lion", "tiger", "camel", "deer"),
    *("fox", "bird", "duck", "chicken", "rooster", "goose", "swan", "parrot", "owl", "eagle", "penguin", "fish"),
    *("shark", "turtle", "snake", "frog", "snail", "butterfly", "bee", "spider", "tree", "flower", "plant", "leaf"),
    *("mushroom", "cactus", "car", "bus", "truck", "van", "train", "tram", "bicycle", "motorcycle", "boat", "ship"),
    *("aeroplane", "helicopter", "rocket", "tractor", "ambulance", "wheel", "house", "building", "tower", "bridge"),
    *("door", "window", "wall", "fence", "bench", "lamp", "street light", "traffic light", "sign", "clock"),
    *("chair", "sofa", "table", "desk", "bed", "shelf", "cupboard", "mirror", "picture", "carpet", "curtain"),
    *("pillow", "blanket", "bathtub", "sink", "toilet", "oven", "refrigerator", "kettle", "teapot", "pot", "pan"),
    *("plate", "bowl", "cup", "drinking glass", "bottle", "vase", "knife", "fork", "spoon", "basket", "box", "bag"),
    *("backpack", "suitcase", "umbrella", "hat", "crown", "shoe", "shirt", "dress", "coat", "trousers", "tie"),
    *("glasses", "watch", "ring", "book", "paper", "pen", "scissors", "key", "candle", "lantern", "telephone"),
    *("camera", "computer", "keyboard", "television", "loudspeaker", "microphone", "headphones", "guitar"),
    *("violin", "cello", "harp", "piano", "accordion", "flute", "trumpet", "saxophone", "drum", "cymbal", "bell"),
    *("maraca", "tambourine", "xylophone", "banjo", "ukulele", "ball", "balloon", "kite", "doll", "teddy", "robot"),
    *("star", "skateboard", "surfboard", "skis", "racket", "bat", "hammer", "saw", "drill", "ladder", "rope"),
    *("broom", "bucket", "bread", "cake", "pizza", "sandwich", "egg", "apple", "banana", "orange", "lemon"),
    *("grapes", "strawberry", "carrot", "tomato", "potato", "pumpkin", "cheese", "windmill", "stone", "rock"),
    *("mountain", "sky", "cloud", "water", "sea", "river", "grass", "sand", "road", "floor"),
)
