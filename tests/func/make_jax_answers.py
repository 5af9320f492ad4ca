"""Store JAX's answers for `jax_cases`, in an environment that has JAX: ``python -m tests.func.make_jax_answers``.

``--missing`` keeps the stored answers, and adds those of new cases.
"""

import sys
from pathlib import Path
from types import SimpleNamespace

import jax
import jax.numpy as jnp
import numpy as host

from .jax_cases import CASES, TRANSFORMS, arguments

jax.config.update("jax_enable_x64", True)


def _conv(x, w):
    return jax.lax.conv(x, w, (1, 1), "VALID")


F = SimpleNamespace(
    cond=jax.lax.cond,
    scan=jax.lax.scan,
    grad=jax.grad,
    jvp=jax.jvp,
    vmap=jax.vmap,
    jacrev=jax.jacrev,
    jacfwd=jax.jacfwd,
    checkpoint=jax.checkpoint,
    jit=jax.jit,
    relu=jax.nn.relu,
    sigmoid=jax.nn.sigmoid,
    softmax=jax.nn.softmax,
    log_softmax=jax.nn.log_softmax,
    erf=jax.scipy.special.erf,
    gammaln=jax.scipy.special.gammaln,
    conv=_conv,
    logit=jax.scipy.special.logit,
    logsumexp=jax.nn.logsumexp,
    softplus=jax.nn.softplus,
    log_sigmoid=jax.nn.log_sigmoid,
    silu=jax.nn.silu,
    digamma=jax.scipy.special.digamma,
    fori_loop=jax.lax.fori_loop,
    switch=jax.lax.switch,
)


def main() -> None:
    """Write ``jax_answers.npz``."""
    path = Path(__file__).with_name("jax_answers.npz")
    found = {}
    if "--missing" in sys.argv:
        stored = host.load(path)
        parts = host.split(stored["values"], host.cumsum(stored["sizes"])[:-1])
        found = dict(zip(str(stored["names"]).split("\n"), parts, strict=True))
    for name, case in CASES.items():
        if any(f"{name}|{transform}" in found for transform in TRANSFORMS):
            continue
        args = tuple(map(jnp.asarray, arguments(case)))
        for transform, apply in TRANSFORMS.items():
            try:
                result = jax.jit(lambda *a, apply=apply, case=case: apply(jnp, F, lambda *x: case.function(jnp, F, *x), a))(*args)
            except Exception as error:
                print(f"{name}, {transform}: {type(error).__name__}: {str(error)[:100]}")
                continue
            leaves = [host.asarray(leaf, host.float64).ravel() for leaf in jax.tree.leaves(result)]
            found[f"{name}|{transform}"] = host.concatenate(leaves)
    # one array: a file of thousands is five times as large
    sizes = host.array([a.size for a in found.values()])
    host.savez_compressed(path, names="\n".join(found), sizes=sizes, values=host.concatenate(list(found.values())))
    print(len(found), "answers of JAX", jax.__version__)


if __name__ == "__main__":
    main()
