"""What outlives the process: named files, the records in them, and the log of commits. It knows nothing of engines."""
