"""What has changed in a followed view between two times, by files."""
