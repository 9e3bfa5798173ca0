"""Slips of the lecture notes, each computed as it is written and as it is right."""
