"""Prints values of exporter/inputs/generate.h, for its test: python generate.py."""

import numpy as np

MASK = (1 << 64) - 1


def mix(z):
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9 & MASK
    z = (z ^ (z >> 27)) * 0x94D049BB133111EB & MASK
    return z ^ (z >> 31)


def stream(position, count):
    return [mix((mix(position) + (i + 1) * 0x9E3779B97F4A7C15) & MASK) for i in range(count)]


def floats(position, count, bits, low, high):
    return [low + (high - low) * ((r >> (64 - bits)) / 2**bits) for r in stream(position, count)]


print("int64[6]=0..99 at 3:", [r % 100 for r in stream(3, 6)])
print("float32[3] at 0:", [np.float32(v).item().hex() for v in floats(0, 3, 24, -1, 1)])
print("float16[3]=0..3 at 0:", [hex(np.float16(v).view(np.uint16)) for v in floats(0, 3, 11, 0, 3)])
print("bool[6] at 1:", [r & 1 for r in stream(1, 6)])
