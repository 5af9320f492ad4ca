"""A spectrogram of a chirp by the short-time Fourier transform, its track, and overlap-add back to the signal."""

import numpy as np


def stft(x, size, hop):
    window = np.hanning(size + 1)[:-1]
    frames = [x[k : k + size] * window for k in range(0, len(x) - size + 1, hop)]
    return np.array([np.fft.rfft(frame) for frame in frames])


def istft(S, size, hop):
    window = np.hanning(size + 1)[:-1]
    n = hop * (len(S) - 1) + size
    out, norm = np.zeros(n), np.zeros(n)
    for k, spectrum in enumerate(S):
        out[k * hop : k * hop + size] += np.fft.irfft(spectrum, size) * window
        norm[k * hop : k * hop + size] += window**2
    return out / np.maximum(norm, 1e-8)


def main():
    rng = np.random.default_rng(19)
    rate = 16_000
    t = np.arange(10 * rate) / rate
    x = np.sin(2 * np.pi * (300 + 250 * t) * t) + 0.3 * rng.normal(size=len(t))
    size, hop = 512, 64
    S = stft(x, size, hop)
    magnitude = np.abs(S)
    decibels = 20 * np.log10(magnitude + 1e-10)
    track = magnitude.argmax(axis=1) * rate / size
    quiet = np.median(magnitude, axis=1, keepdims=True)
    cleaned = istft(np.where(magnitude > 3 * quiet, S, 0), size, hop)
    y = istft(S, size, hop)
    middle = slice(size, len(y) - size)
    print("frames", S.shape, "track", track[:: len(track) // 6])
    print(f"level {decibels.mean():.8f}, error {np.abs(y[middle] - x[: len(y)][middle]).max() < 1e-12}")
    print(f"energy kept {np.sum(cleaned**2) / np.sum(x**2):.8f}")


if __name__ == "__main__":
    main()
