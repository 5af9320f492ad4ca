VALUE_AT

#define TF_VALUE(k) tf_cast<KIND>(READ(value[from + tf_value_at(order[k], AXES)]))
