"""Tracking a moving object with a Kalman filter."""

import numpy as np


class KalmanFilter:
    def __init__(self, F, H, Q, R, x, P):
        self.F, self.H, self.Q, self.R, self.x, self.P = F, H, Q, R, x, P

    def predict(self):
        self.x = self.F @ self.x
        self.P = self.F @ self.P @ self.F.T + self.Q

    def update(self, z):
        y = z - self.H @ self.x
        S = self.H @ self.P @ self.H.T + self.R
        K = self.P @ self.H.T @ np.linalg.inv(S)
        self.x = self.x + K @ y
        self.P = (np.eye(len(self.x)) - K @ self.H) @ self.P


np.random.seed(20)
dt, n = 0.1, 10_000
F = np.array([[1, 0, dt, 0], [0, 1, 0, dt], [0, 0, 1, 0], [0, 0, 0, 1]])
H = np.array([[1.0, 0, 0, 0], [0, 1.0, 0, 0]])
Q, R = 0.01 * np.eye(4), 4.0 * np.eye(2)

truth = np.zeros((n, 4))
truth[0] = [0, 0, 1, 0.5]
for k in range(1, n):
    truth[k] = F @ truth[k - 1] + np.random.multivariate_normal(np.zeros(4), Q) * 0.5
measured = truth[:, :2] + 2.0 * np.random.randn(n, 2)

kf = KalmanFilter(F, H, Q, R, np.zeros(4), 100.0 * np.eye(4))
estimates = []
for z in measured:
    kf.predict()
    kf.update(z)
    estimates.append(kf.x)
estimates = np.array(estimates)

print(f"measured error {np.sqrt(np.mean((measured - truth[:, :2]) ** 2)):.8f}")
print(f"filtered error {np.sqrt(np.mean((estimates[100:, :2] - truth[100:, :2]) ** 2)):.8f}")
print("variances", np.diag(kf.P).round(8))
