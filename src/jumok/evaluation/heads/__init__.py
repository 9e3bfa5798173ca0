"""Head cards over the corpora of each kind of system."""
