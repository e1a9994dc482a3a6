"""Every physical decision, as frozen data: what is arranged by which key, how a join runs, what is reduced how."""
