"""Speed measurements, each beside a peer that runs in the same process or right after it."""
