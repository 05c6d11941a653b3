#!/usr/bin/env python3
"""Dumps layers of PyTorch on a GPU: fp32, TF32, bf16 and fp16. Usage: dump.py FOLDER

The lines of `ulpscope explain --how-to-dump`, over several layers. Every array becomes a float32 one, in which bf16 and
fp16 values are exact. y_fp32 and y_tf32 are one call with TF32 off and on.
"""
import copy
import sys

import numpy as np
import torch

nn = torch.nn


def dump(path, **tensors):
    np.savez_compressed(path, **{k: v.detach().float().cpu().contiguous().numpy() for k, v in tensors.items()})


def tf32(on):
    torch.backends.cuda.matmul.allow_tf32 = on  # nn.Linear, torch.matmul
    torch.backends.cudnn.allow_tf32 = on


def dump_layer(path, m, x):
    tensors = dict(x=x, w=m.weight)
    if m.bias is not None:
        tensors["bias"] = m.bias
    for on, key in ((False, "y_fp32"), (True, "y_tf32")):
        tf32(on)
        tensors[key] = m(x)
    for dtype, key in ((torch.bfloat16, "bf16"), (torch.float16, "fp16")):
        # A copy: m.to(dtype) rounds m's own weights, and with them the ones kept above.
        h, xh = copy.deepcopy(m).to(dtype), x.to(dtype)
        tensors |= {"x_" + key: xh, "w_" + key: h.weight, "y_" + key: h(xh)}
        if h.bias is not None:
            tensors["bias_" + key] = h.bias
    dump(path, **tensors)


def dump_matmul(path, a, b):
    tensors = dict(x=a, w=b)
    for on, key in ((False, "y_fp32"), (True, "y_tf32")):
        tf32(on)
        tensors[key] = a @ b
    for dtype, key in ((torch.bfloat16, "bf16"), (torch.float16, "fp16")):
        tensors |= {"x_" + key: a.to(dtype), "w_" + key: b.to(dtype), "y_" + key: a.to(dtype) @ b.to(dtype)}
    dump(path, **tensors)


def main(folder):
    torch.manual_seed(3)
    layers = {
        "ct1d_seed": (nn.ConvTranspose1d(32, 64, 5, dilation=3, bias=False), (1, 32, 512)),
        "ct1d_bias": (nn.ConvTranspose1d(24, 40, 4, stride=2, padding=1), (2, 24, 333)),
        "conv2d_1x1": (nn.Conv2d(64, 128, 1, bias=False), (1, 64, 24, 24)),
        "conv2d_3x3": (nn.Conv2d(17, 33, 3, padding=1, bias=False), (2, 17, 19, 23)),
        "linear": (nn.Linear(257, 130, bias=False), (65, 257)),
        "linear_wide": (nn.Linear(4096, 64, bias=False), (8, 4096)),
    }
    for name, (m, shape) in layers.items():
        dump_layer(f"{folder}/{name}.npz", m.cuda(), torch.rand(*shape, device="cuda"))
    for rows, columns, k in ((128, 96, 64), (33, 65, 100), (64, 48, 3000)):
        a, b = torch.randn(rows, k, device="cuda"), torch.randn(k, columns, device="cuda")
        dump_matmul(f"{folder}/matmul_{rows}x{columns}x{k}.npz", a, b)
    print(torch.__version__, torch.backends.cudnn.version(), torch.cuda.get_device_name(0))


if __name__ == "__main__":
    main(sys.argv[1])
