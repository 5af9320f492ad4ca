"""Tables of expressions on arrays, autograd and symbols."""
