"""Items under way: what was sent to a server and is not published yet."""
