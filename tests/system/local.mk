# A whole node with real servers.
