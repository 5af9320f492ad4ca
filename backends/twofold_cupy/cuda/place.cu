// Negative indices count from the end. Callers have checked the bounds; clamping keeps the kernel in bounds in any case.
TF_FUNCTION long long tf_place(long long at, long long size) {
    at = at < 0 ? at + size : at;
    return at < 0 ? 0 : at < size ? at : size - 1;
}
