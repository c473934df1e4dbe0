"""Demonstrations: generated, gated by the monitors, and recorded."""
