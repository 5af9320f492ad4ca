// Special functions that CUDA or C++ lacks, in double. The tables TF_… stand in front: the printer writes those that are used.
// The formulas are those of special_functions.py.

template <int N> TF_FUNCTION double tf_polynomial(double x, const double (&c)[N]) {
    double value = c[N - 1];
    for (int k = N - 2; k >= 0; --k) value = value * x + c[k];
    return value;
}
template <int N> TF_FUNCTION double tf_rational(double x, const double (&p)[N], const double (&q)[N]) {
    return tf_polynomial(x, p) / tf_polynomial(x, q);
}
TF_FUNCTION double tf_fraction(double x) { return x - rint(x); }

#ifdef TF_ERFINV
TF_FUNCTION double erfinv(double x) {
    const double size = fabs(x);
    if (size < 0.75) return x * tf_rational(0.5625 - x * x, TF_ERFINV_CENTRAL_P, TF_ERFINV_CENTRAL_Q);
    if (size == 1) return x * TF_INFINITY;
    const double root = sqrt(-log(1 - size));
    const double value = root < 2.75 ? tf_rational(root - 1.125, TF_ERFINV_MIDDLE_P, TF_ERFINV_MIDDLE_Q)
                                     : tf_rational(root - 2.75, TF_ERFINV_TAIL_P, TF_ERFINV_TAIL_Q);
    return copysign(value, x);
}
#endif

#ifdef TF_POLYGAMMA
#define TF_PI 3.14159265358979323846

TF_FUNCTION double tf_polygamma_0(double x) {
    const double y = x < 0 ? 1 - x : x;
    double value;
    if (y < 10) {
        const double t = y < 1 ? y : y - 1;
        const double near = t - TF_DIGAMMA_ROOT_LESS_1[0] - TF_DIGAMMA_ROOT_LESS_1[1];
        value = y < 2.25 ? near * tf_rational(t, TF_DIGAMMA_SMALL_P, TF_DIGAMMA_SMALL_Q)
                         : near * tf_rational(t, TF_DIGAMMA_MIDDLE_P, TF_DIGAMMA_MIDDLE_Q);
        if (y < 1) value -= 1 / y;
    } else {
        const double square = 1 / (y * y);
        value = log(y) - 0.5 / y + square * tf_polynomial(square, TF_DIGAMMA_SERIES);
    }
    if (!(x < 0)) return value;
    return tf_fraction(x) == 0 ? TF_NAN : value - TF_PI / tan(TF_PI * tf_fraction(x));
}

// Derivative of an order > 0 of digamma: the tail's and the reflection's polynomials belong to the order.
template <int N, int M>
TF_FUNCTION double tf_polygamma_of(int order, double x, double factor, int terms, const double (&tail)[N], const double (&cotangent)[M]) {
    const double sign = order % 2 ? 1 : -1, s = order + 1;
    const double fraction = tf_fraction(x);
    if (x <= 0 && !(fraction != 0 && fraction == fraction)) return sign * TF_INFINITY;
    double far = x < 0 ? 1 - x : x, total = 0;
    for (; far < terms; far += 1) total += pow(far, -s);
    const double inverse = 1 / far;
    const double end = inverse * (0.5 + inverse * tf_polynomial(inverse * inverse, tail));
    const double value = sign * factor * (total + pow(far, 1 - s) * (1 / (s - 1) + end));
    if (!(x < 0)) return value;
    return -sign * value - tf_polynomial(cos(TF_PI * fraction) / sin(TF_PI * fraction), cotangent);
}
#define tf_polygamma(order, x) tf_polygamma_##order(x)
#endif
