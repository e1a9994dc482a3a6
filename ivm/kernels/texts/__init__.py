"""Texts: the dictionary that gives them codes, and functions of their bytes."""
