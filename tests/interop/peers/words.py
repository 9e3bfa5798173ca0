"""The words of small models: some of a SentencePiece model's, and some that no text is cut into."""

ENGLISH = ["▁the", "▁cat", "▁sat", "▁", "t", "h", "e", "s", "a"]
BOTH = [*ENGLISH, "고양이", "▁매", "트", "가", "다"]
SPECIAL = ["<unk>", "<blank>", "<s>", "</s>"]
"""Those of OpenNMT-py and Eole."""
LAST = ["averyunlikelytoken0", "averyunlikelytoken1"]
"""What they fill vocabularies up with."""
