"""matplotlib draws large arrays without a display."""

import hashlib
import io

import numpy as np

try:
    import matplotlib as mpl
except ImportError:
    raise SystemExit(print("skipped: matplotlib is not installed")) from None

mpl.use("agg")
import matplotlib.pyplot as plt

N = 70_000
x = np.linspace(0.0, 10.0, N)
figure, axes = plt.subplots(2, 3, figsize=(6, 4))
axes[0, 0].plot(x, np.sin(x) * x)
axes[0, 1].hist(x * x, bins=20)
axes[0, 2].imshow((x * 2.0 + 1.0).reshape(700, 100), aspect="auto")
axes[1, 0].scatter(x[::100], x[::100] * 2.0, c=x[::100])
axes[1, 1].contour((x * x).reshape(700, 100))
axes[1, 2].fill_between(x, x * 2.0, x * 3.0, where=x > 3.0)
buffer = io.BytesIO()
figure.savefig(buffer, format="rgba", dpi=50)
print(hashlib.sha256(buffer.getvalue()).hexdigest(), len(buffer.getvalue()), axes[0, 0].lines[0].get_ydata()[5], axes[0, 0].get_xlim())
