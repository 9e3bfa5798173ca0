"""Folders of transformers."""
