"""Labs about what vectors hold: no network is trained here, or one of a single layer."""
