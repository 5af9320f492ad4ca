"""The operators and functions that programs have of their own."""

#: By library, the program's own `autograd.Function`. Operators are registered once for each library.
FUNCTIONS = {}


def register(mx):
    """Register the program's own operators."""
    if id(mx) in FUNCTIONS:
        return
    operator = mx.operator

    class Square(operator.CustomOp):
        def forward(self, is_train, req, in_data, out_data, aux):
            self.assign(out_data[0], req[0], in_data[0] * in_data[0])

        def backward(self, req, out_grad, in_data, out_data, in_grad, aux):
            self.assign(in_grad[0], req[0], 2 * in_data[0] * out_grad[0])

    class Two(operator.CustomOp):
        def forward(self, is_train, req, in_data, out_data, aux):
            x, y = in_data
            self.assign(out_data[0], req[0], x + y)
            self.assign(out_data[1], req[1], x * y)

        def backward(self, req, out_grad, in_data, out_data, in_grad, aux):
            (x, y), (ds, dp) = in_data, out_grad
            self.assign(in_grad[0], req[0], ds + dp * y)
            self.assign(in_grad[1], req[1], ds + dp * x)

    class Counting(operator.CustomOp):
        def forward(self, is_train, req, in_data, out_data, aux):
            if is_train:
                aux[0][:] += 1
            self.assign(out_data[0], req[0], in_data[0] * 3)

        def backward(self, req, out_grad, in_data, out_data, in_grad, aux):
            self.assign(in_grad[0], req[0], out_grad[0] * 3)

    declare(operator, "whole_square", Square, ["data"], ["output"])
    declare(operator, "whole_two", Two, ["left", "right"], ["total", "product"])
    declare(operator, "whole_counting", Counting, ["data"], ["output"], ["count"])
    FUNCTIONS[id(mx)] = sigmoid_of(mx)


def declare(operator, name, operation, arguments, outputs, states=()):
    """Register an operator of one shape."""

    class Declared(operator.CustomOpProp):
        def __init__(self):
            super().__init__(need_top_grad=True)

        def list_arguments(self):
            return arguments

        def list_outputs(self):
            return outputs

        def list_auxiliary_states(self):
            return list(states)

        def infer_shape(self, in_shape):
            return in_shape, [in_shape[0]] * len(outputs), [(1,)] * len(states)

        def create_operator(self, ctx, shapes, dtypes):
            return operation()

    operator.register(name)(Declared)


def sigmoid_of(mx):
    """A function with a gradient of its own."""

    class Sigmoid(mx.autograd.Function):
        def forward(self, x):
            y = 1 / (1 + mx.nd.exp(-x))
            self.save_for_backward(y)
            return y

        def backward(self, dy):
            (y,) = self.saved_tensors
            return dy * y * (1 - y)

    return Sigmoid
