"""Tests of app.commands."""
