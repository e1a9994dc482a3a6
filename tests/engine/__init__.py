"""Tests of the whole engine through its public interface."""
