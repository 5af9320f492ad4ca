"""Autograd: modes, heads, grad_req, repeated and unused gradients, writes while recording, second derivatives."""

from __future__ import annotations

from .declare import rows

LEAF = "x = nd.array([1, 2, 3]); x.attach_grad()"


def recorded(body: str, before: str = LEAF) -> str:
    """The body inside a recording scope, after the leaf is made."""
    return f"{before}\nwith autograd.record():\n    {body}\n"


SQUARE = recorded("y = x * x")

ROWS = [
    *rows(
        "modes",
        "",
        "autograd.is_recording()",
        "autograd.is_training()",
        "type(autograd.record()).__name__",
    ),
    *rows("modes", "with autograd.record():\n    flags = autograd.is_recording(), autograd.is_training()", "flags"),
    *rows("modes", "with autograd.record(train_mode=False):\n    flags = autograd.is_recording(), autograd.is_training()", "flags"),
    *rows(
        "modes",
        "with autograd.record():\n    with autograd.pause():\n        flags = autograd.is_recording(), autograd.is_training()",
        "flags",
    ),
    *rows(
        "modes",
        "with autograd.record():\n    with autograd.pause(train_mode=True):\n"
        "        flags = autograd.is_recording(), autograd.is_training()",
        "flags",
    ),
    *rows("modes", "with autograd.train_mode():\n    flags = autograd.is_recording(), autograd.is_training()", "flags"),
    *rows(
        "modes",
        "with autograd.record():\n    with autograd.predict_mode():\n        flags = autograd.is_recording(), autograd.is_training()",
        "flags",
    ),
    *rows("modes", "", "autograd.set_training(False)", "autograd.set_recording(False)"),
    *rows("modes", "x = nd.ones((4,))\nwith autograd.record(train_mode=False):\n    y = nd.Dropout(x, p=0.5)", "y"),
    *rows("gradients", LEAF, "x.grad", "x.grad is x.grad", "x.backward()", "x.detach().grad"),
    *rows("gradients", LEAF + "\nx.backward()", "x.grad"),
    *rows("gradients", "x = nd.ones((2,))", "x.grad", "x.attach_grad()", "x.backward()"),
    *rows("gradients", SQUARE + "y.backward()", "x.grad", "y.grad", "x", "y"),
    *rows("gradients", SQUARE + "y.sum().backward()", "x.grad"),
    *rows("gradients", recorded("y = (x * x).sum()") + "y.backward()", "x.grad"),
    *rows("gradients", SQUARE + "y.backward(nd.array([1, 10, 100]))", "x.grad"),
    *rows("gradients", SQUARE + "y.backward(out_grad=nd.array([1, 10, 100]))", "x.grad"),
    *rows("gradients", SQUARE + "y.backward(nd.array([1, 2, 3], dtype='float64'))", "x.grad"),
    *rows("gradients", SQUARE + "y.backward(1.0)", "x.grad"),
    *rows("gradients", SQUARE + "y.backward()\ny.backward()", "x.grad"),
    *rows("gradients", SQUARE + "y.backward(retain_graph=True)\ny.backward()", "x.grad"),
    *rows("gradients", SQUARE + "y.backward()\nx[:] = 5", "x.grad", "x"),
    *rows("gradients", SQUARE + "x[:] = 5\ny.backward()", "x.grad"),
    *rows("gradients", "x = nd.ones((2,))\nwith autograd.record():\n    y = x * 2", "y.backward()"),
    *rows("gradients", LEAF + "\ny = x * 2", "y.backward()"),
    *rows("gradients", recorded("y = x * 2\nz = y * 3"), "z.backward()"),
    *rows("gradients", recorded("y = x * x\nwith autograd.record():\n    z = y * 3") + "z.backward()", "x.grad"),
    *rows("gradients", recorded("y = x * x; z = y.detach() * x") + "z.backward()", "x.grad"),
    *rows("gradients", recorded("z = nd.BlockGrad(x * x) * x") + "z.backward()", "x.grad"),
    *rows("gradients", recorded("y = x * x\n    with autograd.pause():\n        c = y * 2\n    z = c * x") + "z.backward()", "x.grad"),
    *rows("gradients", recorded("a = x * 2; b = x * 3; z = a + b") + "z.backward()", "x.grad"),
    *rows("gradients", recorded("y = x[1:] * 2") + "y.backward()", "x.grad"),
    *rows("gradients", recorded("y = x[[0, 0, 2]] * 2") + "y.backward()", "x.grad"),
    *rows("gradients", recorded("y = x.reshape((3, 1)) * 2") + "y.backward()", "x.grad"),
    *rows("gradients", recorded("y = x.astype('float64') * 2") + "y.backward()", "x.grad", "x.grad.dtype"),
    *rows("gradients", recorded("y = x.as_in_context(mx.cpu(1)) * 2") + "y.backward()", "x.grad", "x.grad.context"),
    *rows("gradients", recorded("y = x.copy() * 2") + "y.backward()", "x.grad"),
    *rows("gradients", recorded("y = (x > 1.5) * x") + "y.backward()", "x.grad"),
    *rows("gradients", recorded("y = nd.argmax(x, axis=0)") + "y.backward()", "x.grad"),
    *rows("gradients", recorded("y = nd.floor(x)") + "y.backward()", "x.grad"),
    *rows("gradients", recorded("y = nd.where(x > 1.5, x, -x)") + "y.backward()", "x.grad"),
    *rows(
        "gradients", "x = nd.array([1, 2], dtype='int32'); x.attach_grad()\nwith autograd.record():\n    y = x * 3\ny.backward()", "x.grad"
    ),
    *rows(
        "unused", recorded("y = x * x", "x = nd.ones((2,)); w = nd.ones((2,)); x.attach_grad(); w.attach_grad()") + "y.backward()", "w.grad"
    ),
    *rows("unused", recorded("y = x * x", "x = nd.ones((2,)); w = nd.ones((2,)); x.attach_grad()"), "autograd.grad(y, w)"),
    *rows("several heads", recorded("y = x * 2; z = x * 3") + "autograd.backward([y, z])", "x.grad"),
    *rows("several heads", recorded("y = x * 2; z = x * 3") + "autograd.backward([y, z], [nd.array([1, 0, 0]), None])", "x.grad"),
    *rows("several heads", recorded("y = x * 2; z = x * 3") + "autograd.backward([y, z], [nd.array([1, 0, 0])])", "x.grad"),
    *rows("several heads", recorded("y = x * 2; z = y * 3") + "autograd.backward([y, z])", "x.grad"),
    *rows("several heads", recorded("y, z = nd.split(nd.concat(x, x * 2, dim=0), 2, axis=0)") + "z.backward()", "x.grad"),
    *rows(
        "grad_req",
        "x = nd.ones((2,)); x.attach_grad('add')\nfor _ in range(3):\n    with autograd.record():\n        y = x * 2\n    y.backward()",
        "x.grad",
    ),
    *rows(
        "grad_req",
        "x = nd.ones((2,)); x.attach_grad('write')\nfor _ in range(3):\n    with autograd.record():\n        y = x * 2\n    y.backward()",
        "x.grad",
    ),
    *rows("grad_req", "x = nd.ones((2,)); x.attach_grad('null')\nwith autograd.record():\n    y = x * 2", "x.grad", "y.backward()"),
    *rows("grad_req", "x = nd.ones((2,))", "x.attach_grad('foo')"),
    *rows(
        "grad_req",
        "x = nd.ones((2,)); x.attach_grad('add')\nx.grad[:] = 10\nwith autograd.record():\n    y = x * 2\ny.backward()",
        "x.grad",
    ),
    *rows("grad_req", SQUARE + "g = x.grad; y.backward()", "g", "g is x.grad"),
    *rows("grad_req", SQUARE + "y.backward(); x.attach_grad()", "x.grad"),
    *rows("grad_req", SQUARE + "x.attach_grad(); y.backward()", "x.grad"),
    *rows("grad_req", SQUARE + "x.zero_grad()", "x.grad"),
    *rows(
        "grad_req",
        "x = nd.ones((2,)); g = nd.zeros((2,)); autograd.mark_variables([x], [g])\nwith autograd.record():\n    y = x * 2\ny.backward()",
        "g",
    ),
    *rows("grad_req", "x = nd.ones((2,)); g = nd.zeros((2,)); autograd.mark_variables(x, g, 'add')", "x.grad is g", "x.grad"),
    *rows("grad_req", recorded("y = x * 2; y.attach_grad(); z = y * y") + "z.backward()", "x.grad", "y.grad"),
    *rows("writes while recording", recorded("x += 1"), "x"),
    *rows("writes while recording", recorded("x[:] = 1"), "x"),
    *rows("writes while recording", recorded("x[0] = 1"), "x"),
    *rows("writes while recording", recorded("y = x * 2; y += 1") + "y.backward()", "x.grad"),
    *rows("writes while recording", recorded("y = x * 2; y[:] = 1") + "y.backward()", "x.grad"),
    *rows("writes while recording", recorded("y = x * 2; y[0] = 1") + "y.backward()", "x.grad"),
    *rows("writes while recording", recorded("y = nd.zeros((3,)); y[:] = x * 2") + "y.backward()", "x.grad"),
    *rows("writes while recording", recorded("y = nd.zeros((3,)); y[1] = x[1] * 2") + "y.backward()", "x.grad"),
    *rows("writes while recording", recorded("c = nd.zeros((3,)); c += 1; y = x * c") + "y.backward()", "x.grad"),
    *rows("writes while recording", recorded("c = nd.ones((3,)); y = x * c; c[:] = 7") + "y.backward()", "x.grad"),
    *rows("writes while recording", recorded("y = x * 2; nd.sqrt(x, out=y)") + "y.backward()", "x.grad"),
    *rows("autograd.grad", SQUARE, "autograd.grad(y, x)", "autograd.grad(y, [x])", "autograd.grad([y], [x])"),
    *rows("autograd.grad", SQUARE, "autograd.grad(y, x, head_grads=nd.array([1, 10, 100]))", "autograd.grad(y, x, retain_graph=True)"),
    *rows("autograd.grad", SQUARE + "g = autograd.grad(y, x)", "x.grad"),
    *rows("autograd.grad", recorded("y = x * x", "x = nd.ones((2,))"), "autograd.grad(y, x)"),
    *rows("autograd.grad", SQUARE, "autograd.grad(y, [])"),
    *rows(
        "second derivatives",
        recorded("y = x * x * x; g = autograd.grad(y, x, create_graph=True, retain_graph=True)[0]; z = g.sum()") + "z.backward()",
        "x.grad",
        "g",
    ),
    *rows(
        "second derivatives",
        recorded("y = nd.sigmoid(x); g = autograd.grad(y, [x], create_graph=True, retain_graph=True)[0]; z = nd.log(g)") + "z.backward()",
        "g",
        "x.grad",
    ),
    *rows(
        "second derivatives",
        recorded("y = nd.sin(x); g = autograd.grad(y, [x], create_graph=True, retain_graph=True)[0]") + "g.backward()",
        "x.grad",
    ),
    *rows("symbols of records", SQUARE, "len(autograd.get_symbol(y).list_arguments())"),
    *rows(
        "functions",
        "class Twice(autograd.Function):\n"
        "    def forward(self, a):\n        return a * 2\n"
        "    def backward(self, dout):\n        return dout * 5\n" + recorded("y = Twice()(x) * 3") + "y.backward()",
        "y",
        "x.grad",
    ),
    *rows(
        "training",
        "x = nd.ones((2, 3)); m = nd.zeros((3,)); v = nd.ones((3,)); g = nd.ones((3,)); b = nd.zeros((3,))\n"
        "with autograd.record():\n    y = nd.BatchNorm(x, g, b, m, v)",
        "m",
        "v",
    ),
]
