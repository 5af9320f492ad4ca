"""A long noisy signal, filtered by its spectrum."""

import numpy as np

rng = np.random.default_rng(18)
rate, n = 10_000, 1 << 20
t = np.arange(n) / rate
signal = np.sin(2 * np.pi * 50 * t) + 0.5 * np.sin(2 * np.pi * 120 * t)
noisy = signal + rng.normal(0, 1.5, n)

spectrum = np.fft.rfft(noisy)
freqs = np.fft.rfftfreq(n, 1 / rate)
power = np.abs(spectrum) ** 2 / n
peaks = np.argsort(power)[-2:]

spectrum[power < 200] = 0
clean = np.fft.irfft(spectrum, n)
window = np.ones(25) / 25
smooth = np.convolve(noisy, window, mode="same")

print("frequencies", np.sort(freqs[peaks]).round(4))
for name, x in [("noisy", noisy), ("filtered", clean), ("moving average", smooth)]:
    print(f"{name}: error {np.sqrt(np.mean((x - signal) ** 2)):.10f}")
