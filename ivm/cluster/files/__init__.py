"""What a cluster keeps in a folder: versions, logs, feeds, snapshots, chains; and what removes them."""
