"""The Translator: sentences, kept strings, glossaries and documents."""
