"""Models of bundles on the native engine, beside torch or without it."""
