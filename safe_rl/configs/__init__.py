"""Hydra presets: the groups ``env``, ``algo``, ``specs`` and ``eval``, and the two entry points."""
