"""Images with captions: from files to batches."""
