"""Mixtures of sounds whose stems are known: catalogue of clips, split, prompts, plan, sound, files."""
