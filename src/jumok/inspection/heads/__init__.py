"""Head cards: what each head does over a corpus."""
