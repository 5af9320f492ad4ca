"""Expressions on the symbols ``x`` and ``y``, whose nodes the real MXNet has recorded: ``S`` is ``mx.sym.np``, ``X`` is ``mx.sym.npx``."""

from __future__ import annotations

import json
from typing import Any

COMPOSITIONS = """
x+y
x+1
1-x
x/2
2/x
x**2
2**x
x%3
x==y
x>1
x<y
-x
x@y
abs(x)
S.abs(x)
S.add(x,y)
S.add(x,1.5)
S.exp(x)
S.sum(x)
S.sum(x,axis=1)
x.sum(axis=(0,1),keepdims=True)
x.mean()
S.mean(x,axis=0)
S.max(x)
S.dot(x,y)
S.matmul(x,y)
S.concatenate([x,y],axis=1)
S.stack([x,y])
S.vstack([x,y])
S.split(x,2)
S.split(x,(1,2),axis=1)
x.reshape(-1,2)
x.reshape((2,3))
S.reshape(x,(2,3))
X.reshape(x,(-2,-1))
x.T
x.transpose(1,0)
S.transpose(x)
S.expand_dims(x,0)
x[0]
x[1:3]
x[:,0]
S.where(x,y,y)
S.where(x,1,y)
S.zeros((2,3))
S.ones(3,dtype='int32')
S.arange(3)
S.full((2,),3)
S.linspace(0,1,5)
S.eye(3)
S.zeros_like(x)
S.ones_like(x)
S.full_like(x,3)
S.argmax(x,axis=1)
S.clip(x,0,1)
S.take(x,y,axis=1)
S.einsum('ij,jk->ik',x,y)
S.tensordot(x,y,axes=1)
S.tensordot(x,y,axes=([0],[1]))
S.squeeze(x)
S.var(x)
S.cumsum(x,axis=1)
S.random.uniform(size=(2,))
S.random.normal(0,1,size=(2,))
S.random.normal(x,1)
S.linalg.norm(x)
S.linalg.norm(x,axis=1)
S.maximum(x,y)
S.maximum(x,0)
S.tile(x,2)
S.repeat(x,2,axis=0)
S.pad(x,((1,1),(0,0)))
S.flip(x,0)
S.broadcast_to(x,(2,3))
S.swapaxes(x,0,1)
S.sort(x)
S.argsort(x)
S.logical_not(x)
S.percentile(x,50)
S.std(x,axis=1)
S.average(x)
S.squeeze(x,0)
S.copy(x)
S.tril(x)
S.diff(x)
S.hypot(x,y)
S.arctan2(x,1)
S.deg2rad(x)
S.invert(x)
S.round(x)
S.inner(x,y)
S.outer(x,y)
S.vdot(x,y)
S.atleast_2d(x)
S.moveaxis(x,0,1)
S.roll(x,1)
S.insert(x,1,2)
S.delete(x,1)
S.append(x,y)
x.astype('int32')
x.flatten()
x.ravel()
S.ravel(x)
x.clip(0,1)
X.softmax(x)
X.relu(x)
X.sigmoid(x)
X.fully_connected(x,num_hidden=3)
X.activation(x,act_type='relu')
X.batch_norm(x)
X.one_hot(x,3)
X.pick(x,y)
X.topk(x)
X.embedding(x,y,input_dim=2,output_dim=3)
X.dropout(x)
X.layer_norm(x)
X.arange_like(x)
X.batch_dot(x,y)
X.gamma(x)
X.random.bernoulli(prob=0.5,size=(2,))
S.add(1,2)
S.exp(1)
x.squeeze()
x.argmax(axis=1)
x.std()
x.repeat(2)
x.take(y)
x.exp()
x.softmax()
x.as_np_ndarray()
x.dot(y)
x.max()
x.prod()
x.swapaxes(0,1)
x.expand_dims(0)
x.split(2)
x.tile(2)
x.square()
x.broadcast_to((2,3))
S.random.randint(0,3,size=(2,))
S.random.choice(5)
S.random.gamma(1.0,size=2)
S.random.rand(2)
S.random.exponential()
S.linalg.svd(x)
S.linalg.solve(x,y)
S.linalg.inv(x)
x+onp.float32(1)
S.hsplit(x,2)
S.array_split(x,3)
S.column_stack([x,y])
S.dstack([x,y])
S.hstack([x,y])
S.diag(x)
S.trace(x)
S.polyval(x,y)
S.rot90(x)
S.ediff1d(x)
S.indices((2,2))
S.hanning(3)
S.logspace(0,1,3)
S.identity(3)
S.isnan(x)
S.may_share_memory(x,y)
S.diag_indices_from(x)
S.all(x)
S.any(x,axis=0)
S.fabs(x)
S.fix(x)
S.divide(x,2)
S.power(2,x)
S.mod(x,y)
S.where(x,1,2)
S.squeeze(x,axis=(0,1))
S.quantile(x,y)
S.fliplr(x)
S.rad2deg(x)
S.bitwise_xor(x,y)
S.lcm(x,2)
S.ldexp(x,y)
S.copysign(1,x)
S.equal(x,2)
S.linalg.norm(x,ord=1)
S.linalg.norm(x,ord=2)
S.linalg.norm(x,ord='fro')
S.linalg.norm(x,ord='nuc')
S.linalg.norm(x,ord=onp.inf)
S.linalg.norm(x,ord=1,axis=1)
S.linalg.norm(x,ord=0,axis=1)
S.linalg.norm(x,ord=onp.inf,axis=1)
S.linalg.norm(x,ord=3,axis=(0,1))
S.linalg.norm(x,axis=(0,1),keepdims=True)
S.linalg.norm(x,ord=-2,axis=(0,1))
S.linalg.norm(x,ord='fro',axis=(0,1))
S.linalg.norm(x,ord='inf',axis=(0,1))
S.vsplit(x,2)
S.dsplit(x,[1])
S.linalg.eigh(x)
S.linalg.slogdet(x)
S.atleast_2d(x,y)
S.average(x,weights=y,returned=True)
S.average(x,weights=y,axis=1)
S.ediff1d(x,to_begin=y,to_end=3)
S.insert(x,slice(0,2),3)
S.insert(x,y,3)
S.insert(x,1,y)
S.delete(x,slice(0,2))
S.delete(x,y)
S.where(x,y,2)
S.where(x,2,y)
S.full_like(x,3,dtype='int32')
S.random.uniform(x,y,size=3)
S.random.uniform(0,1,size=(2,),dtype='float64',ctx=mx.cpu())
S.random.normal(size=3,out=None)
S.random.gamma(x,y)
S.random.choice(x,3)
S.random.choice(5,3,p=y)
S.random.exponential(x,size=2)
S.random.gumbel(0,1,(2,))
S.random.logistic(0,1,(2,))
S.random.rayleigh(1,(2,))
S.random.weibull(1,(2,))
S.random.pareto(1,(2,))
S.random.beta(1,2,size=(2,))
S.random.chisquare(1,size=(2,))
S.random.lognormal(0,1,(2,))
S.random.rand()
X.random.uniform_n(0,1,batch_shape=(2,))
X.random.normal_n(x,1,batch_shape=(2,))
X.random.bernoulli(logit=x)
S.linspace(0,1,5,dtype='int32')
S.zeros_like(x,dtype='int32')
S.argsort(x,axis=None)
S.sort(x,axis=0)
S.linalg.pinv(x)
S.linalg.pinv(x,y)
S.linalg.tensorsolve(x,y)
S.linalg.tensorinv(x)
S.linalg.det(x)
S.linalg.cholesky(x)
S.linalg.eig(x)
S.linalg.eigvals(x)
S.linalg.eigvalsh(x)
S.pad(x,((1,1),),mode='constant',constant_values=3)
S.take(x,y)
S.take(x,y,mode='clip')
S.clip(x,0,None)
S.repeat(x,2)
S.squeeze(x,axis=None)
S.roll(x,1,axis=0)
S.flip(x)
S.flipud(x)
S.moveaxis(x,(0,1),(1,2))
S.diff(x,prepend=y)
S.percentile(x,y,axis=(0,1))
S.sum(x,dtype='int32')
S.std(x,dtype='float32',ddof=1)
S.eye(3,4,k=1,dtype=onp.int32)
S.hstack([x])
S.tensordot(x,y)
x[...]
x[0,1]
x[0:2,1:3]
x[None]
x[::2]
x[::-1]
S.may_share_memory(x,x)
S.shares_memory(x,x)
""".strip().splitlines()


def nodes(text: str, mx: Any) -> Any:
    """The operators of a composition as MXNet's files have them: name, automatic name, attributes, number of inputs; or ``"raises"``."""
    import numpy as onp

    x, y = (mx.sym.var(name).as_np_ndarray() for name in "xy")
    try:
        with mx.name.NameManager():
            found = eval(text, {"S": mx.sym.np, "X": mx.sym.npx, "x": x, "y": y, "onp": onp, "mx": mx})
    except Exception:
        return "raises"
    first = found[0] if isinstance(found, (list, tuple)) else found
    if not hasattr(first, "tojson"):
        return str(found)
    listed = json.loads(first.tojson())["nodes"]
    return [[n["op"], n["name"], n.get("attrs", {}), len(n["inputs"])] for n in listed if n["op"] != "null"]


#: Compositions whose nodes differ on purpose, or where MXNet refuses and Twofold composes.
DIFFERENT = {
    "S.pad(x,((1,1),(0,0)))": "MXNet counts the node twice",
    "S.pad(x,((1,1),),mode='constant',constant_values=3)": "MXNet ignores the constant",
    "S.random.choice(x,3)": "the device is named",
    "S.random.chisquare(1,size=(2,))": "MXNet's scale gives another distribution",
    "x[0:2,1:3]": "a reshape that changes nothing is left out",
    "S.linalg.norm(x,ord='inf',axis=(0,1))": "one node",
    "S.delete(x,y)": "refused: the shape of the result depends on the values",
}


def comparable(found: Any) -> Any:
    """Nodes without attributes that are at their defaults, and with numbers in brackets as numbers."""
    if found == "raises":
        return found
    return [
        [op, name, {k: v.strip("[]()").rstrip(",") for k, v in attrs.items() if v not in ("None", "False", "[None]")}, count]
        if not isinstance(found, str)
        else found
        for op, name, attrs, count in found
    ]
