"""From SQL text to the relational IR: parse, bind, type, normalize; what cannot be maintained is refused by name."""
