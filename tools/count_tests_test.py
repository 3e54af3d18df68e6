"""Each program of a run counts for itself, and a failed one is named with its last lines."""

import pathlib
import subprocess
import tempfile
import unittest

COUNT_TESTS = pathlib.Path(__file__).with_name("count_tests")
RULE = "-" * 58 + "\n"


def ctest_part(number, name, output, passed):
    """What ctest writes into LastTest.log about one test."""
    return (f"{number}/2 Testing: {name}\n{number}/2 Test: {name}\nCommand: \"{name}\"\nOutput:\n{RULE}{output}"
            f"<end of output>\nTest time =   0.02 sec\n{RULE}Test {'Passed' if passed else 'Failed'}.\n"
            f"\"{name}\" time elapsed: 00:00:00\n{RULE}\n")


def count(*parts):
    """(exit status, lines printed) for a log of these parts."""
    with tempfile.TemporaryDirectory() as build:
        log = pathlib.Path(build, "Testing/Temporary/LastTest.log")
        log.parent.mkdir(parents=True)
        log.write_text(f"Start testing: now\n{RULE}" + "".join(parts) + "End testing: now\n")
        done = subprocess.run([COUNT_TESTS, "--ctest", build], capture_output=True, text=True)
    return done.returncode, done.stdout.splitlines()


class CountTestsTest(unittest.TestCase):
    UNIT = ctest_part(1, "unit", "[  PASSED  ] 34 tests.\n", True)

    def test_adds_up_what_passes(self):
        rows = ctest_part(2, "rows", "9 rows, 40 checks: 38 pass, 2 gap\n", True)
        self.assertEqual(count(self.UNIT, rows), (0, ["74 passed, 0 failed"]))

    def test_names_the_program_that_failed_and_its_last_lines(self):
        rows = ctest_part(2, "rows", "mismatch: add\n9 rows, 40 checks: 39 pass, 1 mismatch\n", False)
        status, lines = count(self.UNIT, rows)
        self.assertEqual(status, 1)
        self.assertIn("mismatch: add", lines)
        self.assertEqual(lines[-2:], ["failed: rows (1 of 40 cases)", "73 passed, 1 failed"])

    def test_a_program_that_fails_without_a_count_is_one_case(self):
        crash = ctest_part(2, "crash", "Segmentation fault\n", False)
        self.assertEqual(count(self.UNIT, crash)[1][-2:], ["failed: crash (1 of 1 cases)", "34 passed, 1 failed"])


if __name__ == "__main__":
    unittest.main()
