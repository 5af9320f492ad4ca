typedef unsigned long long tf_word;

TF_KERNEL tf_philox(const long long count, const tf_word *key, tf_word *out) {
    TF_EACH(long long, i, (count + 3) / 4) {
        tf_word c0 = key[0] + (tf_word)i, c1 = key[1], c2 = key[2], c3 = key[3], k0 = key[4], k1 = key[5];
        if (c0 < (tf_word)i && ++c1 == 0 && ++c2 == 0) ++c3;
        if (++c0 == 0 && ++c1 == 0 && ++c2 == 0) ++c3;  // NumPy's generator increments the counter before each draw
        for (int round = 0; round < 10; ++round) {
            const tf_word high0 = __umul64hi(0xD2E7470EE14C6C93ULL, c0), low0 = 0xD2E7470EE14C6C93ULL * c0;
            const tf_word high1 = __umul64hi(0xCA5A826395121157ULL, c2), low1 = 0xCA5A826395121157ULL * c2;
            c0 = high1 ^ c1 ^ k0, c1 = low1, c2 = high0 ^ c3 ^ k1, c3 = low0;
            k0 += 0x9E3779B97F4A7C15ULL, k1 += 0xBB67AE8584CAA73BULL;
        }
        const tf_word words[4] = {c0, c1, c2, c3};
        for (int k = 0; k < 4 && 4 * i + k < count; ++k) out[4 * i + k] = words[k];
    }
}
