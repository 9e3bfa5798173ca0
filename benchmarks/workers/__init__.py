"""Programs that run inside a peer's environment; they import that peer and the standard library."""
