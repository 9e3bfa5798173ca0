"""The verbs that plan runs, and start many."""
