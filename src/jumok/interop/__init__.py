"""Models of others: their folders become bundles, and all that jumok does works for them."""
