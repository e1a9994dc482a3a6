"""The relational IR: frozen typed nodes over bags with signed multiplicities, scalar expressions, one text form."""
