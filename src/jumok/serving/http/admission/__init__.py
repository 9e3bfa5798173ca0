"""The way of a request into the server: its connection, what is refused, and the route."""
