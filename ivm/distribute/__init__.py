"""From one relation to fragments of it, each of which a shard maintains over the rows that it has."""
