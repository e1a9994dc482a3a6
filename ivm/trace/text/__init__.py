"""Texts: the dictionary, the strings that codes stand for, and how those go that nobody needs."""
