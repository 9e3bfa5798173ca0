"""From a recipe's data to token ids and images on disk."""
