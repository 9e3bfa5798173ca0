"""The routes of each dialect: LibreTranslate's, OpenAI's and jumok's own."""
