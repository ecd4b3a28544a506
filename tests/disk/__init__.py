"""Tests of what is written, and under which name."""
