#!/usr/bin/env python3
"""Prints a record (ulpscope.run/1) as a Markdown table: max and mean error per variant and mode.

usage: reports/table.py RECORD...
"""
import json
import signal
import sys


def main(paths):
    if not paths:
        sys.exit(__doc__.strip())
    print("| case | variant | mode | max error | mean error | verdict |")
    print("| --- | --- | --- | --- | --- | --- |")
    for path in paths:
        try:
            with open(path, encoding="utf-8") as file:
                record = json.load(file)
        except (OSError, ValueError) as error:
            sys.exit(f"table.py: {path}: {error}")
        if record.get("schema") != "ulpscope.run/1":
            sys.exit(f"table.py: {path} is no record of schema ulpscope.run/1")
        for row in record["results"]:
            error = row.get("error")
            if row["verdict"] == "skipped" or not isinstance(error, dict):
                continue
            print(f"| {row['case']} | {row['variant']} | {row['mode']} | {error['max_abs']:.2e} | "
                  f"{error['mean_abs']:.2e} | {row['verdict']} |")


signal.signal(signal.SIGPIPE, signal.SIG_DFL)  # "| head" ends it quietly
main(sys.argv[1:])
