# ruff: noqa: E501
"""Expressions and statements whose results the real MXNet has recorded: NumPy's functions on arrays of ``mx.np``."""

from __future__ import annotations

#: Calls of functions. ``a``, ``i`` and ``h`` are matrices of float32, int32 and float16, ``v`` is a vector, ``e`` an array without elements.
CALLS = """
np.rint(np.array([0.5,1.5,2.5,-0.5]))
np.around(np.array([0.5,1.5,2.5,-0.5]))
np.around(np.array([15,25]),-1)
np.sum(a,axis=0,initial=5)
np.sum(i,axis=1,dtype='float32')
np.sum(i,dtype='int64')
np.prod(a,axis=1)
np.prod(i,dtype='float64')
np.max(a,axis=(0,1))
np.mean(i,dtype='float64')
np.mean(i,axis=1,keepdims=True)
np.mean(i,dtype='int32')
np.var(a,ddof=1)
np.std(i,axis=1)
np.std(i,dtype='float32')
np.var(i,dtype='float64',axis=0)
np.average(a)
np.average(a,axis=1,weights=v)
np.average(a,axis=1,weights=v,returned=True)
np.average(a,returned=True)
np.average(i)
np.argmax(a,axis=1)
np.cumsum(a,axis=1)
np.cumsum(i,dtype='float32')
np.linalg.norm(a)
np.linalg.norm(a,axis=1)
np.linalg.norm(a,ord=1)
np.linalg.norm(a,ord=2)
np.linalg.norm(a,ord='fro')
np.linalg.norm(a,ord='nuc')
np.linalg.norm(a,ord=np.inf)
np.linalg.norm(a,ord=np.inf,axis=1)
np.linalg.norm(v,ord=0)
np.linalg.norm(v,ord=3)
np.linalg.norm(a,axis=(0,1),keepdims=True)
np.linalg.norm(i)
np.percentile(a,50)
np.percentile(a,[25,75],axis=1)
np.percentile(a,np.array([25,75]),axis=1)
np.percentile(i,50)
np.percentile(a,30,interpolation='lower')
np.quantile(a,0.5)
np.quantile(a,np.array([0.25,0.5]))
np.diff(a)
np.diff(a,n=2)
np.diff(a,axis=0)
np.diff(a,prepend=np.array([[1],[2]]))
np.ediff1d(a)
np.ediff1d(a,to_begin=1,to_end=np.array([5,6]))
np.bincount(np.array([0,1,1,3],dtype='int32'))
np.bincount(np.array([0,1,1,3],dtype='int64'),weights=np.array([1.,2,3,4]),minlength=6)
np.histogram(a,bins=3)
np.histogram(a,bins=3,range=(0,6))
np.histogram(a,bins=np.array([0.,2,4,6]))
np.unique(i,return_index=True,return_inverse=True,return_counts=True)
np.unique(a,axis=0)
np.nonzero(i)
npx.nonzero(i)
np.where(i>2)
np.sort(a,axis=0)
np.sort(a,axis=None)
np.argsort(a,axis=0)
np.argsort(a,axis=None)
np.dot(a,v)
np.dot(v,v)
np.dot(a,2)
np.dot(i,i.T)
np.matmul(a,a.T)
np.matmul(v,v)
np.matmul(i,i.T)
np.inner(a,a)
np.outer(v,v)
np.vdot(a,a)
np.tensordot(a,a,axes=2)
np.tensordot(a,a,axes=([1],[1]))
np.einsum('ij,kj->ik',a,a)
np.einsum('ij->',i)
np.trace(a)
np.diag(a)
np.diag(v,k=1)
np.diagonal(a,1)
np.diagflat(a)
np.tril(a)
np.tril(v)
np.flip(a)
np.flip(a,1)
np.fliplr(a)
np.rot90(a)
np.rot90(a,2,(1,0))
np.roll(a,1)
np.roll(a,(1,1),(0,1))
np.moveaxis(np.zeros((1,2,3)),0,-1).shape
np.moveaxis(np.zeros((1,2,3)),(0,1),(2,0)).shape
np.transpose(a)
np.swapaxes(a,0,1)
np.reshape(a,(3,-1))
np.reshape(a,-1)
np.reshape(a,(-2,))
npx.reshape(a,(-2,1,-1))
a.reshape(3,2,order='F')
np.squeeze(np.zeros((1,2,1)))
np.squeeze(np.zeros((1,2,1)),axis=0).shape
np.expand_dims(v,(0,))
np.broadcast_to(v,(2,3))
np.broadcast_arrays(v,a)
np.meshgrid(v,v)
np.meshgrid(v,v,indexing='ij')
np.sin(v,where=True)
np.add(v,v,dtype=None,order='K',subok=True)
np.matmul(a,v,casting='same_kind')
np.nan_to_num(v,dtype='float64')
np.concatenate([a,a],axis=None)
np.concatenate((a,a),axis=-1)
np.concatenate([i,h])
np.stack([v,v],axis=-1)
np.vstack([v,v])
np.hstack([v,v])
np.hstack([a,a])
np.dstack([v,v])
np.column_stack([v,v])
np.row_stack([v,v])
np.append(v,np.array([4.]))
np.append(a,a,axis=0)
np.append(v,4)
np.split(v,3)
np.split(v,[1])
np.split(a,(1,),axis=1)
np.array_split(v,2)
np.hsplit(a,3)
np.vsplit(a,2)
np.dsplit(np.zeros((1,2,2)),2)
np.hsplit(v,[1,2])
np.split(v,2)
np.atleast_1d(np.array(1.))
np.atleast_2d(v,np.array(2.))
np.atleast_3d(v).shape
np.tile(v,2)
np.tile(a,(2,1)).shape
np.repeat(v,2)
np.repeat(a,2,axis=1)
np.repeat(v,np.array([1,2,3]))
np.take(a,np.array([0,1]))
np.take(a,np.array([0,1]),axis=1)
np.take(a,np.array([0,7]),axis=1,mode='clip')
np.take(a,np.array([0,7]),axis=1)
np.take(a,1,axis=1)
np.take(a,np.array([0,-1]),axis=1,mode='wrap')
np.insert(v,1,5)
np.insert(v,np.array([0,2]),np.array([7.,8]))
np.insert(v,slice(0,2),5)
np.insert(a,1,v,axis=0)
np.delete(v,1)
np.delete(a,0,axis=0)
np.delete(v,slice(0,2))
np.delete(v,np.array([0,2]))
np.pad(v,1)
np.pad(v,(1,2),constant_values=5)
np.pad(v,((1,2),),mode='edge')
np.pad(a,((1,1),(0,0)),mode='reflect')
np.pad(a,((1,1),(0,0)),mode='symmetric')
np.pad(a,((1,1),(0,0)),mode='maximum')
np.resize(v,(2,2))
np.clip(i,2,4)
np.clip(a,None,3)
np.clip(i,1.5,3.5)
np.clip(a,2,None)
np.polyval(v,np.array([2.,3]))
np.linspace(0,1,4,endpoint=False)
np.linspace(0,10,3,dtype='int32')
np.logspace(0,2,3,base=2)
np.eye(2,3,1,dtype='int32')
np.identity(2,dtype='int32')
np.indices((2,2),dtype='float32')
np.hamming(4)
np.blackman(4)
np.hanning(1)
np.full((2,2),np.array(3))
np.full((2,),1,dtype='int8')
np.full_like(a,2,dtype='int32')
np.zeros(())
np.zeros((0,3))
np.ones((),dtype='int32')
np.array([])
np.array([[]]).shape
np.array(5,dtype='int32')
np.array(True)
np.arange(5,dtype='int64')
np.arange(2,8,3)
np.arange(5,0,-2)
np.arange(0)
np.unravel_index(np.array([3,5]),(2,3))
np.unravel_index(np.array([3,5],dtype='int32'),(2,3))
np.unravel_index(3,(2,3))
np.diag_indices_from(np.zeros((2,2)))
np.shape(a)
np.may_share_memory(a,a)
np.shares_memory(a,a[0:1])
np.copy(a)
np.linalg.inv(np.eye(2))
np.linalg.det(np.eye(2))
np.linalg.slogdet(np.eye(2))
np.linalg.cholesky(np.eye(2))
np.linalg.solve(np.eye(2),np.array([1.,2]))
np.linalg.eigh(np.eye(2))
np.linalg.eigvalsh(np.eye(2))
np.linalg.eig(np.eye(2))
np.linalg.eigvals(np.eye(2))
np.linalg.pinv(a)
np.linalg.tensorinv(np.eye(4).reshape(2,2,2,2)).shape
np.linalg.tensorsolve(np.eye(4).reshape(2,2,2,2),np.ones((2,2)))
np.linalg.matrix_rank(a)
np.linalg.cond(np.eye(2))
np.linalg.multi_dot([a,a.T])
np.ptp(a)
np.isclose(a,a)
np.allclose(a,a)
np.array_equal(a,a)
np.count_nonzero(a)
np.nanmax(a)
np.cov(a)
np.interp(v,v,v)
np.searchsorted(v,v)
np.argwhere(i)
np.isin(i,np.array([1]))
np.trapz(v)
np.ix_(v,v)
np.divmod(i,2)
np.positive(a)
np.ndim(a)
np.size(a)
np.result_type(a,i)
np.vander(v)
np.maximum(i,2)
np.trunc(i)
np.max(e)
np.sum(e)
np.mean(e)
repr(a)
repr(i)
repr(h)
repr(v)
repr(e)
repr(a > 2)
repr(a.astype('float64'))
repr(np.array(3, dtype='int8'))
repr(np.array(2.5))
repr(np.zeros((2, 30), dtype='int32'))
repr(np.arange(40))
str(a)
str(np.array(2.5))
'{:.2f}'.format(np.array(2.5))
'%.1f' % np.array(2.5)
'{}'.format(v)
[np.array([1, 2]).tolist(), np.array(3).tolist()]
"""

#: Statements that change the float32 matrix ``a`` or the int32 matrix ``i``, or name a result ``r``.
STATEMENTS = """
b=a[0]; b[:]=9
b=a[:,0]; b[:]=9
b=a[0,0]; b[()]=9; r=b.shape
b=a[0:1,1:2]; b[:]=9
b=a[0,1:3]; b[:]=9
b=a.T; b[:]=9
b=a.reshape(6); b[:]=9
b=a.reshape_view(6); b[:]=9
b=a[None]; b[:]=9; r=b.shape
b=a[...]; b[:]=9
b=a[::1]; b[:]=9
b=a[::2]; b[:]=9
b=a.flatten(); b[:]=9
b=a.squeeze(); b[:]=9
b=a.detach(); b[:]=9
b=a.as_nd_ndarray(); b[:]=9
b=a.expand_dims(0); b[:]=9
b=a.astype('float32',copy=False); b[:]=9
b=a.copy(); b[:]=9
a[0]=7
a[0,0]=onp.float64(7)
a[:]=[1,2,3]
a[:]=onp.ones((2,3))
a[a>2]=-1
a[a>2]=a[a>2]*2
a[np.array([0])]=5
a[[0,1],[1,2]]=5
a[:,[0,2]]=np.array([[1,2],[3,4]])
a+=1
a+=i
i+=1.5; r=i
i/=2; r=i
a-=a
a*=onp.float32(2)
i+=a; r=i
a[0]+=1
a[5]=1
a[0]=np.ones(5)
a[...,0]=3
a[1:,None]=3
a[True]=2
r=a[np.array([0,1])]
r=a[np.array([0,1],dtype='int32')]
r=a[[1,0]]
r=a[onp.array([1,0])]
r=a[a>2]
r=a[(a>2)[:,0]]
r=a[np.array(1)]
r=a[np.array([[0,1]]),0]
r=a[-1,-1]
r=a[None,0]
r=a[...,1]
r=a[1,...,1]
r=a[1:0]
r=a[True]
r=a[[True,False]]
r=a[1.5]
r=a['x']
r=a[(0,1)]
r=a[[0,1],[0,1]]
r=list(a[0])
r=a.item(2)
r=a[0,0].item()
r=int(a[0,0]); r=float(a[0,1]); r=bool(a[0,0]); r=range(int(a[0,2]))
r=[0,1,2][a[0,1]]
r=onp.sin(a)
r=onp.sum(a); r=type(r)
r=onp.concatenate([a,a]); r=type(r)
r=onp.mean(a)
r=a+onp.float32(1)
r=onp.float32(1)+a
r=a.asnumpy()+1
r=-i
r=abs(a)
r=a@a.T
r=~i
r=i&1
r=i|i
r=i^3
r=round(a[0,1])
r=a.max().item()
r=a==None
r=a!=None
r=a==[1]
r=(a==a).all()
x=np.array([1.,2,3]); x.attach_grad(); mx.autograd.set_recording(True); y=(x*x+np.exp(x)/2-3*x).sum(); mx.autograd.set_recording(False); y.backward(); r=x.grad
x=np.array([1.,2,3]); x.attach_grad(); mx.autograd.set_recording(True); y=np.mean(x[1:]*i[:,:2]); mx.autograd.set_recording(False); y.backward(); r=x.grad
a.attach_grad(); mx.autograd.set_recording(True); y=np.dot(a,a.T).sum()+a[0,1]**2; mx.autograd.set_recording(False); y.backward(); r=a.grad
a.attach_grad(); mx.autograd.set_recording(True); y=np.concatenate([a,a*2],axis=0).max(axis=1).sum(); mx.autograd.set_recording(False); y.backward(); r=a.grad
a.attach_grad(); mx.autograd.set_recording(True); y=np.where(a>2,a*a,a).mean(); mx.autograd.set_recording(False); y.backward(); r=a.grad
a.attach_grad(); mx.autograd.set_recording(True); y=np.linalg.norm(a,axis=1).sum()+np.cumsum(a,axis=0)[1,1]; mx.autograd.set_recording(False); y.backward(); r=a.grad
a.attach_grad(); mx.autograd.set_recording(True); y=(npx.softmax(a)*a).sum()+npx.relu(a-2).sum()+npx.sigmoid(a).sum(); mx.autograd.set_recording(False); y.backward(); r=a.grad
a.attach_grad(); mx.autograd.set_recording(True); y=np.take(a,np.array([0,2]),axis=1).sum()+np.pad(a,((1,1),(0,0)),mode='edge').sum(); mx.autograd.set_recording(False); y.backward(); r=a.grad
a.attach_grad(); mx.autograd.set_recording(True); y=(a.reshape(3,2)@a).sum()+np.einsum('ij,ij->',a,a)+np.tensordot(a,a,2); mx.autograd.set_recording(False); y.backward(); r=a.grad
a.attach_grad('add'); mx.autograd.set_recording(True); y=np.split(a,3,axis=1)[1].sum(); mx.autograd.set_recording(False); y.backward(); r=a.grad
r=npx.softmax(a,axis=0), npx.log_softmax(a), npx.topk(a,k=2), npx.pick(a,np.array([0,1])), npx.one_hot(np.array([0,2]),3)
r=npx.fully_connected(a,np.ones((2,3)),np.zeros(2),num_hidden=2), npx.activation(a,act_type='tanh'), npx.leaky_relu(a-2)
r=npx.batch_flatten(a.reshape(1,2,3)), npx.layer_norm(a,np.ones(3),np.zeros(3)), npx.embedding(np.array([0,1]),a,input_dim=2,output_dim=3)
r=npx.reshape(a,(-2,-1)), npx.reshape_like(a,np.zeros((3,2))), npx.shape_array(a), npx.arange_like(a), npx.sequence_mask(a)
r=npx.gamma(a+1), npx.gammaln(a+1), npx.erf(a), npx.erfinv(a/10), npx.smooth_l1(a), npx.batch_dot(a.reshape(1,2,3),a.reshape(1,3,2))
r=npx.gather_nd(a,np.array([[0,1],[1,2]])), npx.slice(a,begin=(0,1),end=(2,3)), npx.cast(a,dtype='int32'), npx.nonzero(a)
r=npx.convolution(a.reshape(1,1,2,3),np.ones((1,1,2,2)),np.zeros(1),kernel=(2,2),num_filter=1), npx.pooling(a.reshape(1,1,2,3),kernel=(2,2),pool_type='avg')
r=npx.constraint_check(a>=0,'no')
r=npx.constraint_check(a>0,'no')
r=npx.is_np_array(), npx.is_np_shape()
mx.random.seed(1); x=np.random.normal(0,1,(3,)); mx.random.seed(1); r=(x==np.random.normal(0,1,(3,)))
r=[x.dtype for x in (np.random.uniform(size=2),np.random.normal(size=2),np.random.gamma(1.,size=2),np.random.beta(1,1,size=2),np.random.gumbel(size=2),np.random.logistic(size=2),np.random.exponential(size=2),np.random.rayleigh(size=2),np.random.weibull(1.,size=2),np.random.pareto(1.,size=2),np.random.power(1.,size=2),np.random.chisquare(2,size=2),np.random.lognormal(size=2),np.random.rand(2),np.random.randn(2))]
r=[x.shape for x in (np.random.uniform(),np.random.uniform(np.zeros(3),1),np.random.normal(np.zeros((2,1)),np.ones(3)),np.random.randint(3),np.random.randint(3,size=2),np.random.choice(5),np.random.choice(5,(2,3)),np.random.choice(v,4),np.random.multinomial(3,[.5,.5]),np.random.multinomial(3,[.5,.5],size=(2,)),np.random.multivariate_normal(np.zeros(2),np.eye(2)),np.random.rand(),np.random.rand(2,3),npx.random.uniform_n(0.,1.,(2,)),npx.random.normal_n(np.zeros(3),1.,(2,)),npx.random.bernoulli(0.5,size=(2,)))]
r=a.any()
r=divmod(a,2)
r=a//2
r=a<<1
r=+a
r=a.tolist()
r=a.nonzero()
r=a.sort()
r=a.argsort()
r=a.clip(1,3)
r=a.round(1)
r=a.repeat(2)
r=a.take(np.array([0,1]))
r=a.dot(a.T)
r=a.std(),a.var(),a.mean(axis=0)
r=a.cumsum()
r=a.swapaxes(0,1).shape
r=a.transpose(1,0).shape,a.transpose((1,0)).shape,a.transpose().shape
r=a.broadcast_to((2,2,3)).shape
r=a.diag()
r=a.exp()
r=a.flatten(order='F')
r=a.tostype('default')
r=a.copyto(mx.cpu()); r=type(r)
r=a.as_in_ctx(mx.cpu()) is a
r=a.wait_to_read()
r=a.slice_assign_scalar(5,(0,),(1,),(1,))
r=len(a)
r=a.reshape(-1); r=r.shape
r=a.reshape(shape=(3,2)).shape
r=a.reshape((3,-1),order='C').shape
r=a.reshape_like(i)
r=a.sum(axis=1,keepdims=True)
r=a.prod(), a.min(axis=0), a.argmin()
r=a.astype(int), a.astype(bool), a.astype(onp.float64)
r=a.astype('float32') is a
r=pow(a,2)
r=2**a
r=a**a
r=a%2
r=5%(a+1)
r=np.array(1.5)+np.array(1)
r=a.attach_grad('add'); r=a.grad
r=str(a.ctx), str(a.context)
r=a.dtype.name, a.dtype==onp.float32, a.dtype=='float32'
b=np.array(1.); b+=1; r=b
r=mx.nd.array([1])+1; r=mx.nd.array([1]).as_np_ndarray()+1
r=mx.nd.dot(a,a)
r=np.dot(mx.nd.ones((2,2)),a)
r=np.sum(mx.nd.ones((2,2)))
r=np.stack(a)
r=np.sum(a.tolist())
r=np.concatenate([a.tolist()])
r=np.where(a>1,a.tolist(),0)
r=np.array(a.tolist()).dtype, np.array([a[0].asnumpy()]).dtype
r=np.array((1,2)),np.array(range(3)),np.array([[1],[2]],dtype=onp.int64)
r=np.array([1,2],ctx=mx.cpu(0)), str(np.zeros((1,),ctx=mx.cpu(1)).ctx)
r=np.zeros_like(a,dtype='int32'),np.ones_like(i)
r=np.full((2,),True),np.full((2,),3,dtype=None)
r=np.arange(3,dtype=None)
r=np.sum(a,-1),np.sum(a,axis=-1)
r=np.sum(a,axis=2)
r=np.zeros((2,3),dtype=bool)
r=np.zeros((2,3),'int8').dtype
r=np.ones((2,)).sum(dtype='float64').dtype
r=np.exp(a,out=a)
r=np.add(a,a,out=a)
r=np.sqrt(-a)
r=np.log(a)
r=np.argmax(a,axis=1), np.argmax(a,1)
"""

DTYPES = ("float32", "float64", "float16", "int32", "int64", "int8", "uint8", "bool")
PAIRS = (
    ("float32", "float32"),
    ("int32", "int32"),
    ("float32", "int32"),
    ("int32", "float32"),
    ("float32", "float64"),
    ("float16", "float32"),
    ("int32", "int64"),
    ("bool", "float32"),
    ("bool", "int32"),
    ("int32", "float16"),
)
UNARY = [
    "abs",
    "absolute",
    "arccos",
    "arccosh",
    "arcsin",
    "arcsinh",
    "arctan",
    "arctanh",
    "cbrt",
    "ceil",
    "cos",
    "cosh",
    "degrees",
    "exp",
    "expm1",
    "fabs",
    "fix",
    "floor",
    "invert",
    "isfinite",
    "isinf",
    "isnan",
    "isneginf",
    "log",
    "log10",
    "log1p",
    "log2",
    "logical_not",
    "negative",
    "radians",
    "reciprocal",
    "rint",
    "sign",
    "sin",
    "sinh",
    "sqrt",
    "square",
    "tan",
    "tanh",
    "trunc",
    "around",
    "nan_to_num",
]
BINARY = [
    "add",
    "subtract",
    "multiply",
    "divide",
    "true_divide",
    "mod",
    "remainder",
    "power",
    "maximum",
    "minimum",
    "arctan2",
    "hypot",
    "copysign",
    "ldexp",
    "lcm",
    "bitwise_and",
    "bitwise_or",
    "bitwise_xor",
    "equal",
    "not_equal",
    "less",
    "less_equal",
    "greater",
    "greater_equal",
]
REDUCTIONS = [
    "sum",
    "prod",
    "max",
    "min",
    "mean",
    "std",
    "var",
    "all",
    "any",
    "argmax",
    "argmin",
    "cumsum",
    "sort",
    "argsort",
    "unique",
    "amax",
    "amin",
    "product",
    "sometrue",
]


def expressions() -> dict[str, list[str]]:
    """All expressions, in groups."""
    unary = [f"np.{name}(of('{d}', [0, 1, 2]))" for name in UNARY for d in DTYPES]
    binary = [f"np.{name}(of('{x}', [5, 0, 3]), of('{y}', [2, 1, 1]))" for name in BINARY for x, y in PAIRS]
    numbers = [
        call
        for name in BINARY
        for n in ("2", "1.5", "-1", "True")
        for d in ("float32", "float16", "int32", "uint8", "bool")
        for call in (f"np.{name}(of('{d}', [5, 0, 3]), {n})", f"np.{name}({n}, of('{d}', [5, 1, 3]))")
    ]
    along = [
        f"np.{name}(of('{d}', [[3, 0, 2], [1, 1, 1]]){axis})"
        for name in REDUCTIONS
        for d in DTYPES
        for axis in ("", ", axis=0", ", axis=-1")
    ]
    return {
        "calls": CALLS.strip().splitlines(),
        "statements": STATEMENTS.strip().splitlines(),
        "unary": unary,
        "binary": binary,
        "numbers": numbers,
        "reductions": along,
    }
