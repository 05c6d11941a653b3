#!/usr/bin/env python3
"""Prints what share of calls was reproduced bit for bit, by mode and by kernel, from records (ulpscope.run/1).

usage: reports/sweep_table.py RECORD...

A call counts as reproduced when its plan gives every output: of the whole output where its hash was checked,
else of all outputs that were kept. Winograd and FFT engines and atomics, whose order is not theirs to keep, are
listed apart and not counted; so are calls that were skipped or failed.
"""
import collections
import json
import re
import signal
import sys

HELPERS = re.compile(r"nchwToNhwc|nhwcToNchw|tensorTransform|convertTensor|memset|scale(Packed)?Tensor|"
                     r"offsets?Kernel|computeOffsets|kern_precompute|add_bias|padding|reorder", re.I)
REDUCTION = re.compile(r"split_?k|SplitK|splitKreduce|ReduceSplitK|reduce_1Block", re.I)
ATOMICS = re.compile(r"dgrad_engine|wgrad_alg0_engine", re.I)
# What says nothing about arithmetic or order: tile shapes, alignments, template arguments.
TAIL = re.compile(r"(_tilesize|_\d+x\d+_\d+x\d+|_align|_execute|__5x|_stage|_kernel__|<|\().*$")


def family(engine):
    """The kernel that adds, without its tile: cutlass_80_tensorop_s1688gemm, sm80_xmma_fprop_..."""
    parts = [p.strip() for p in (engine or "").split(" + ") if p.strip()]
    adding = [p for p in parts if not HELPERS.search(p) and not REDUCTION.search(p)] or parts
    if not adding:
        return "unknown"
    name = re.sub(r"^(void )?(cutlass::Kernel2?<|cutlass__\w*::Kernel2?<)?", "", adding[0])
    name = re.sub(r"(\w+::|\(anonymous namespace\)::)+", "", name)
    name = TAIL.sub("", name) or name
    return name + (" + split" if any(REDUCTION.search(p) for p in parts) else "")


def words(row):
    return " ".join(row.get("notes") or []) + " " + (row.get("engine") or "") + " " + row["variant"]


def kind(row):
    if row["verdict"] == "skipped":
        return "skipped"
    if row["verdict"] == "error" or not isinstance(row.get("error"), dict):
        return "failed"
    text = words(row).lower()
    if "winograd" in text:
        return "Winograd"
    if re.search(r"fft", text):
        return "FFT"
    if row.get("runs_differing") or ATOMICS.search(text) or "nondeterministic" in text:
        return "atomics"
    return "counted"


def reproduced(row):
    whole = row.get("whole_output_replayed")
    if whole is not None:
        return bool(whole)
    return (row.get("bit_identical") == 1 and row.get("replayed_outputs") == row.get("judged_outputs"))


def share(rows):
    good = sum(map(reproduced, rows))
    return f"{len(rows)} | {good} | {100 * good / len(rows):.1f} %"


def table(title, heads, groups):
    print(f"\n{title}\n")
    print("| " + " | ".join(heads) + " | calls | reproduced | share |")
    print("| " + " | ".join("---" for _ in heads) + " | --: | --: | --: |")
    for key in sorted(groups):
        print("| " + " | ".join(key) + " | " + share(groups[key]) + " |")


def grouped(rows, *keys):
    groups = collections.defaultdict(list)
    for row in rows:
        groups[tuple(key(row) for key in keys)].append(row)
    return groups


def read(paths):
    for path in paths:
        try:
            with open(path, encoding="utf-8") as file:
                record = json.load(file)
        except (OSError, ValueError) as error:
            sys.exit(f"sweep_table.py: {path}: {error}")
        if not isinstance(record, dict) or record.get("schema") != "ulpscope.run/1":
            sys.exit(f"sweep_table.py: {path} is no record of schema ulpscope.run/1")
        yield from record["results"]


def main(paths):
    if not paths:
        sys.exit(__doc__.strip())
    by_kind = grouped(read(paths), kind)
    counted = by_kind.pop(("counted",), [])
    if not counted:
        sys.exit("sweep_table.py: no call of these records counts: all were skipped, failed or listed apart")
    shapes = len({row["case_text"] for row in counted})
    whole = sum(row.get("whole_output_replayed") is not None for row in counted)
    good = sum(map(reproduced, counted))
    print(f"{good} of {len(counted)} calls reproduced bit for bit ({100 * good / len(counted):.1f} %), on {shapes} "
          f"problems; {whole} calls were checked on the whole output, the others on what was kept.")
    mode, op = (lambda r: r["mode"]), (lambda r: r["op"])
    table("By mode", ["mode"], grouped(counted, mode))
    table("By operator and mode", ["operator", "mode"], grouped(counted, op, mode))
    table("By kernel and mode", ["kernel", "mode"], grouped(counted, lambda r: family(r.get("engine")), mode))
    apart = {k: v for k, v in by_kind.items() if k[0] in ("Winograd", "FFT", "atomics")}
    if apart:
        table("Listed apart, not counted", ["engine", "mode"],
              grouped([r for rows in apart.values() for r in rows], kind, mode))
    for name in ("skipped", "failed"):
        if (name,) in by_kind:
            print(f"\n{len(by_kind[name,])} calls {name}.")
    missed = [row for row in counted if not reproduced(row)]
    if missed:
        print("\nNot reproduced\n\n| call | variant | mode | best plan's share | kernel |\n"
              "| --- | --- | --- | --: | --- |")
        for row in missed:
            part = row.get("bit_identical")
            part = "-" if part is None else f"{100 * part:.2f} %"
            print(f"| {row['case_text']} | {row['variant']} | {row['mode']} | {part} | {family(row.get('engine'))} |")


if __name__ == "__main__":
    signal.signal(signal.SIGPIPE, signal.SIG_DFL)  # "| head" ends it quietly
    main(sys.argv[1:])
