"""The suite's report: one page of HTML that needs nothing else, made of figures alone."""
