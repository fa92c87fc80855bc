"""Voters that learn from whole bags: multiple-instance learning."""
