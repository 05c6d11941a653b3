#!/usr/bin/env python3
"""Explains every dump of a folder, as a Markdown table. Usage: table.py ULPSCOPE FOLDER [ONLY...]"""
import json
import os
import subprocess
import sys
import time

LAYERS = {
    "ct1d_seed": "conv_transpose1d --dilation 3",
    "ct1d_bias": "conv_transpose1d --stride 2 --padding 1",
    "conv2d_1x1": "conv2d",
    "conv2d_3x3": "conv2d --padding 1",
    "linear": "linear",
    "linear_wide": "linear",
    "matmul_128x96x64": "gemm",
    "matmul_33x65x100": "gemm",
    "matmul_64x48x3000": "gemm",
}


def command(program, path, layer, kind):
    end = "" if kind == "fp32 against tf32" else "_" + kind
    words = [program, "explain", "--op", *LAYERS[layer].split(), "--input", f"{path}:x{end}", "--weight", f"{path}:w{end}"]
    if layer == "ct1d_bias":
        words += ["--bias", f"{path}:bias{end}"]
    if end:
        return words + ["--candidate", f"{path}:y{end}", "--candidate-dtype", kind]
    return words + ["--candidate", f"{path}:y_fp32", "--reference", f"{path}:y_tf32"]


def main(program, folder, only):
    print("| layer | outputs | verdict | cause | plan | bits | seconds |\n| --- | --- | --- | --- | --- | --- | --- |")
    for layer in LAYERS:
        path = f"{folder}/{layer}.npz"
        if not os.path.exists(path) or (only and layer not in only):
            continue
        for kind in ("fp32 against tf32", "bf16", "fp16"):
            words = command(program, path, layer, kind) + ["--json", "-"]
            start = time.monotonic()
            ran = subprocess.run(words, capture_output=True, text=True)
            seconds = time.monotonic() - start
            if ran.returncode > 1:
                sys.exit(ran.stderr)
            answer = json.loads(ran.stdout)
            sides = [("y_fp32", answer["candidate"]), ("y_tf32", answer["reference"])] if answer["reference"] else [
                ("y_" + kind, answer["candidate"])]
            for name, side in sides:
                plan = side["plan"] or side.get("unordered_plan")
                words = "`" + plan.replace("|", "\\|") + "`" if plan else "none found"
                share = f"{100 * side['bit_identical']:.4g} %" if side["plan"] or not plan else "in some order"
                print(f"| {layer} | {name} | {side['verdict']} | {answer['cause']} | {words} | {share} | {seconds:.1f} |", flush=True)


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], sys.argv[3:])
