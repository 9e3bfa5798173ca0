"""The exercises, one file a chapter; the right answers are what `jumok course solution` prints."""
