"""safe_rl: one temporal-logic safety specification trains, filters, refines and scores a policy."""

__version__ = "0.1.0"
