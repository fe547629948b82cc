"""labelspan beside its peers: the same work on the same data, time, memory and quality."""
