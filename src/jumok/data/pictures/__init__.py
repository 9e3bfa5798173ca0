"""Images with labels: from files to batches."""
