"""A trace as a page: interactive, static, and in notebooks."""
