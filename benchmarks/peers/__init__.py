"""labelspan compared with its peers: the same work on the same data, time, memory and quality."""
