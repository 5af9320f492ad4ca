"""pandas on large arrays: frames over their memory, and columns as operands."""

import io

import numpy as np

try:
    import pandas as pd
except ImportError:
    raise SystemExit(print("skipped: pandas is not installed")) from None

N = 70_000
x = np.arange(float(N))
frame = pd.DataFrame({"a": x, "b": x * 2.0 + 1.0, "c": np.arange(N) % 5, "d": x > 3.0})
print(frame.dtypes, frame.describe(), frame.head())
print(frame.groupby("c")["b"].mean(), frame[frame["b"] > 9.0].iloc[0], frame.loc[5, "b"], frame["a"].rolling(3).mean()[9])
print((frame["a"] + x)[4], (x + frame["a"].to_numpy())[4], np.log(frame["b"])[3], frame["a"].values[:3] * 2, type(frame["a"].iloc[2]))
series = pd.Series(x, index=np.asarray(np.arange(N) * 2)[::1].tolist())
print(series[4], series.sum(), series.to_numpy().sum(), (series * x).iloc[3], np.asarray(series)[5], series.is_unique, pd.isna(x).any())
frame["e"] = x / 7.0
frame.loc[frame["c"] == 2, "e"] = np.nan
print(
    frame["e"].isna().sum(), frame.fillna(0.0)["e"].sum(), frame.merge(frame[["a", "c"]].head(5), on="a").shape, pd.qcut(x, 3).categories[0]
)
text = io.StringIO()
frame.head(3).to_csv(text)
print(text.getvalue(), pd.unique(np.arange(N) % 3), pd.factorize(np.arange(N) % 4)[1], pd.to_datetime(np.arange(N), unit="s")[5])
