"""The look of colours: contrast as WCAG 2 has it, lightness and distance in CIELAB, and colour
blindness.

Blindness: the matrices of Machado, Oliveira and Fernandes (2009), severity 1, on linear sRGB.
"""

from __future__ import annotations

import numpy as np

BLINDNESS = {
    "none": np.eye(3),
    "protanopia": [
        [0.152286, 1.052583, -0.204868],
        [0.114503, 0.786281, 0.099216],
        [-0.003882, -0.048116, 1.051998],
    ],
    "deuteranopia": [
        [0.367322, 0.860646, -0.227968],
        [0.280085, 0.672501, 0.047413],
        [-0.011820, 0.042940, 0.968881],
    ],
    "tritanopia": [
        [1.255528, -0.076749, -0.178779],
        [-0.078411, 0.930809, 0.147602],
        [0.004733, 0.691367, 0.303900],
    ],
}
_XYZ = np.array([[0.4124, 0.3576, 0.1805], [0.2126, 0.7152, 0.0722], [0.0193, 0.1192, 0.9505]])
_WHITE = _XYZ.sum(axis=1)


def linear(colour: str) -> np.ndarray:
    channels = np.array([int(colour[place : place + 2], 16) for place in (1, 3, 5)]) / 255
    return np.where(channels <= 0.04045, channels / 12.92, ((channels + 0.055) / 1.055) ** 2.4)


def contrast(one: str, other: str) -> float:
    """WCAG 2: 4.5 for text, 3 for graphics."""
    low, high = sorted(float(linear(each) @ _XYZ[1]) for each in (one, other))
    return (high + 0.05) / (low + 0.05)


def lab(colour: str, blindness: str = "none") -> np.ndarray:
    """CIELAB of a colour as somebody with *blindness* sees it: lightness 0 to 100 first."""
    seen = np.clip(np.array(BLINDNESS[blindness]) @ linear(colour), 0, 1)
    ratio = _XYZ @ seen / _WHITE
    f = np.where(ratio > 216 / 24389, np.cbrt(ratio), (24389 / 27 * ratio + 16) / 116)
    return np.array([116 * f[1] - 16, 500 * (f[0] - f[1]), 200 * (f[1] - f[2])])
