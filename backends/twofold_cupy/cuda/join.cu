TF_FUNCTION KIND tf_join(KIND a, KIND b) { return JOIN; }
