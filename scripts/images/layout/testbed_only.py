"""Stands for everything that only the environment of the tests has."""

ANSWER = 42
