#!/usr/bin/env python3
"""The fp32 weights that dump.py's layers start with, made without PyTorch, written into dumps. Usage: weights.py FOLDER

PyTorch fills a layer's weights on the CPU: the 24 low bits of each number of a Mersenne twister, scaled to +-1/sqrt(fan in)
by one fused multiply-add. The README says why the recording needs this. Weights that do not round to the dumped
ones, every one of them, are refused.
"""
import math
import os
import sys

import numpy as np

# In the order in which dump.py makes them, with the bias's length.
LAYERS = (("ct1d_seed", (32, 64, 5), 0), ("ct1d_bias", (24, 40, 4), 40), ("conv2d_1x1", (128, 64, 1, 1), 0),
          ("conv2d_3x3", (33, 17, 3, 3), 0), ("linear", (130, 257), 0), ("linear_wide", (64, 4096), 0))


def uniform(twister, shape, bound):
    bits = np.frombuffer(twister.bytes(4 * math.prod(shape)), "<u4")
    low, high = np.float32(-bound), np.float32(bound)
    unit = (bits & 0xFFFFFF) * 2.0**-24
    # The product is exact in double, so that the sum is all but never rounded twice.
    return (unit * np.float64(high - low) + np.float64(low)).astype(np.float32).reshape(shape)


def bf16(x):
    bits = x.view(np.uint32)
    return ((bits + 0x7FFF + (bits >> 16 & 1)) & np.uint32(0xFFFF0000)).view(np.float32)


def layers(seed=3):
    twister = np.random.RandomState(seed)
    for name, shape, bias in LAYERS:
        fan_in = math.prod(shape[1:])
        gain = math.sqrt(2 / (1 + math.sqrt(5) ** 2))  # kaiming_uniform_(a=sqrt(5))
        arrays = {"w": uniform(twister, shape, math.sqrt(3.0) * (gain / math.sqrt(fan_in)))}
        if bias:
            arrays["bias"] = uniform(twister, (bias,), 1 / math.sqrt(fan_in))
        yield name, arrays


def main(folder):
    for name, arrays in layers():
        path = f"{folder}/{name}.npz"
        if not os.path.exists(path):
            continue
        dumped = dict(np.load(path))
        for key, value in arrays.items():
            if (bf16(value).astype(np.float16).astype(np.float32) != dumped[key + "_fp16"]).any():
                sys.exit(f"{path}: {key} is not what the seed gives: dump it again with dump.py")
            dumped[key] = value
        np.savez_compressed(path, **dumped)


if __name__ == "__main__":
    main(sys.argv[1])
