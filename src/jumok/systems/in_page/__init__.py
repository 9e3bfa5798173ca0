"""Models as HTML files that run them, without a server or a network."""
