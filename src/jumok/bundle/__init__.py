"""A trained model's folder: what training writes and everything else reads.

    config.json         the format, the model's sizes, its vocabulary, languages and limits
    model.safetensors   the weights, each tensor once
    tokenizer.model     SentencePiece
    card.json           what it was trained on, how long, and its scores
    README.md           the card for readers

A folder with a pickle in it is refused. `reading` checks all that can be checked without torch, so
that `jumok info` is fast; `weights` reads the rest.
"""
