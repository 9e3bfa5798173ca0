"""Sentences with their translations: from files to batches."""
