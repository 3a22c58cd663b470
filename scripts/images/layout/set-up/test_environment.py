"""Fails with every interpreter but that of the environment."""

import unittest

import testbed_only


class EnvironmentTest(unittest.TestCase):
    def test_environment(self):
        self.assertEqual(testbed_only.ANSWER, 42)
