"""The corpora and the tables of `jumok heads`."""
