struct tf_found { KIND value; long long place; };  // -1: no element
TF_FUNCTION tf_found tf_join(tf_found a, tf_found b) {
    if (a.place < 0 || b.place < 0) return a.place < 0 ? b : a;
    const bool lost = a.value != a.value, lost_too = b.value != b.value;
    if (lost != lost_too) return lost ? a : b;
    if (!lost && a.value != b.value) return b.value IS_BEYOND a.value ? b : a;
    return a.place < b.place ? a : b;
}
