#!/usr/bin/python3
"""Checks JSON files against a JSON Schema; says every place that does not fit.

usage: reports/schema/validate.py SCHEMA FILE...
Needs the package python3-jsonschema.
"""
import json
import sys

import jsonschema


def main(schema_path, paths):
    with open(schema_path, encoding="utf-8") as file:
        schema = json.load(file)
    validator_class = jsonschema.validators.validator_for(schema)
    validator_class.check_schema(schema)
    validator = validator_class(schema)
    bad = 0
    for path in paths:
        with open(path, encoding="utf-8") as file:
            document = json.load(file)
        for error in validator.iter_errors(document):
            place = "/".join(str(step) for step in error.absolute_path)
            print(f"{path}: {place or '(the whole)'}: {error.message[:300]}")
            bad += 1
    return 1 if bad else 0


if __name__ == "__main__":
    if len(sys.argv) < 3:
        sys.exit(__doc__.strip())
    sys.exit(main(sys.argv[1], sys.argv[2:]))
