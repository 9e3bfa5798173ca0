"""Texts, one by one or as documents: from files to batches."""
