"""Commands that plan runs, or start many."""
