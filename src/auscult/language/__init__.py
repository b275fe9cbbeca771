"""Words about things seen and heard: facts, the grammar of referring expressions, and the proof of what they name."""
