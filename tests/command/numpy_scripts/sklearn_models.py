"""scikit-learn's compiled code on large arrays."""

import numpy as np

try:
    from sklearn import cluster, decomposition, linear_model, metrics, model_selection, neighbors, preprocessing, tree
except ImportError:
    raise SystemExit(print("skipped: scikit-learn is not installed")) from None

rng = np.random.default_rng(0)
x = rng.normal(size=(4000, 20)) * 2.0 + 1.0
y = (x @ rng.normal(size=20) > 1.0).astype(int)
print(x.size, preprocessing.StandardScaler().fit_transform(x)[3, 4], decomposition.PCA(3).fit_transform(x).shape)
print(linear_model.LinearRegression().fit(x, x[:, 0] * 3.0).coef_[:2].round(6), linear_model.LogisticRegression().fit(x, y).score(x, y))
print(
    cluster.KMeans(3, n_init=1, random_state=0).fit(x).cluster_centers_.round(6),
    tree.DecisionTreeClassifier(max_depth=3, random_state=0).fit(x, y).score(x, y),
)
print(neighbors.KNeighborsClassifier(3).fit(x, y).predict(x[:5]), metrics.accuracy_score(y, y), round(metrics.roc_auc_score(y, x[:, 0]), 6))
train, test = model_selection.train_test_split(x, random_state=0)
print(
    train.shape,
    test[0, 0],
    metrics.pairwise_distances(x[:300], x[:300])[1, 2],
    linear_model.SGDClassifier(random_state=0).fit(x, y).score(x, y),
)
