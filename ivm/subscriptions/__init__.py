"""Subscriptions: what changes in a view, told to whoever wants it, in the form that suits them."""
