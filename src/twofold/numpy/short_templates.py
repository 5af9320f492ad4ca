"""The templates of `short_calls`: functions that call NumPy's on the contents of their arguments, and make one cell for its result.

Their lines such as ``{result}`` stand for the texts of `generated_text`; the other names are those that `short_calls` gives them.
"""

#: Takes NumPy's array or scalar out of an argument.
TAKEN = """kind = {a}.__class__
{margin}if kind is cls:
{margin}    {a} = {a}._content
{margin}    if {a}.__class__ is not plain:
{margin}        if tls.tape is not None and is_tracked({a}):
{margin}            return function(*args, **options)
{margin}        return of_large(function, numpys, args, options)
{margin}    if {a}.dtype is bfloat16:
{margin}        return of_large(function, numpys, args, options)
{margin}elif kind is element:
{margin}    {a} = {a}._raw
{margin}elif kind is view and of_views and {a}._of.__class__ is plain:
{margin}    x = {a}
{margin}    {{{a} of x}}
{margin}    if {a}.__class__ is not plain or {a}.dtype is bfloat16:
{margin}        return at_length(function, numpys, args, options)
{margin}elif kind not in atoms:
{margin}    if kind is view and tls.tape is not None and is_tracked({a}._base._content):
{margin}        return function(*args, **options)
{margin}    return at_length(function, numpys, args, options)"""
#: Any function, of one to three arguments that are arrays, numbers or names.
CALL = f"""
def call(*args, **options):
    n = len(args)
    if listeners or n > 3 or n == 0:
        return at_length(function, numpys, args, options)
    if options:
        for name, value in options.items():
            if value.__class__ not in atoms or name in own:
                return at_length(function, numpys, args, options)
    a = args[0]
    b = c = None
    {TAKEN.format(a="a", margin="    ")}
    elif defaults.stack:
        return at_length(function, numpys, args, options)
    try:
        if n == 1:
            v = numpys(a, **options) if options else numpys(a)
        else:
            b = args[1]
            {TAKEN.format(a="b", margin=" " * 12)}
            if n == 2:
                v = numpys(a, b, **options) if options else numpys(a, b)
            else:
                c = args[2]
                {TAKEN.format(a="c", margin=" " * 16)}
                v = numpys(a, b, c, **options) if options else numpys(a, b, c)
    except refused:
        return function(*args, **options)
    if v.__class__ is plain:
        if v.base is None and v is not a and v is not b and v is not c and (v.ndim < 2 or v.flags.c_contiguous) and v.dtype in name_of:
            r = cls()
            r._content = v if v.size < settings.defer_elements else Value(v)
            return r
    {{scalar}}
    try:
        return finished(v, (a, b, c)[:n], args)
    except refused:
        return function(*args, **options)
"""
#: Whether nothing follows the parameters that a template spells out.
ALONE = "not more and not options and not listeners"
#: Whether an argument is an array, or a view with its memory at hand. The elements of a recorded view are a copy, recorded each time.
AT_HAND = "kind is cls or (kind is view and (of := a._of) is not None and (of.__class__ is plain or tls.tape is None))"
REDUCTION = f"""
def call(a, axis=None, *more, out=None, keepdims=False, **options):
    kind = a.__class__
    if ({AT_HAND}) and {ALONE} and (axis is None or axis.__class__ is int) and (keepdims is False and out is None or keeps):
        {{v of a}}
        if v is None and keeps and a._steps is None and a._key is transposed and axis is not None and out is None and not keepdims:
            m = a._under._content if a._under.__class__ is cls else None
            if m.__class__ is plain and m.ndim == 2 and -3 < axis < 2 and m.dtype is not bfloat16:
                v = reduce(m, ~axis)  # that of the matrix along its other axis, as by `reductions._below`
                {{result}}
        if v.__class__ is plain and v.dtype is not bfloat16:
            try:
                if out is not None:
                    if out.__class__ is cls and (w := out._content).__class__ is plain and w.dtype is v.dtype and w.ndim:
                        reduce(v, axis, None, w, keepdims)
                        return out
                    return general(a, axis, out=out, keepdims=keepdims)
                v = reduce(v, axis, None, None, keepdims) if keepdims else reduce(v, axis)
                {{result}}
            except refused:
                pass
    if out is not None:
        options["out"] = out
    if keepdims is not False:
        options["keepdims"] = keepdims
    return general(a, axis, *more, **options)
"""
COPY = f"""
def call(a, *more, **options):
    kind = a.__class__
    if {ALONE}:
        if kind is cls:
            v = a._content
        elif kind is view and (of := a._of) is not None and of is a._base._content and of.__class__ is plain:
            v = a._seen
        else:
            v = None
        if v.__class__ is plain:
            r = cls()
            r._content = numpys(v)
            return r
    return general(a, *more, **options)
"""
#: The 2-norm of all elements, with the bits of its operators.
NORM = f"""
def call(x, ord=None, axis=None, *more, **options):
    kind = x.__class__
    if ord is None and axis is None and (kind is cls or kind is view) and {ALONE}:
        {{v of x}}
        if v.__class__ is plain and v.dtype in floats:
            try:
                v = sqrt(total(square(v), None))
                {{result}}
            except refused:
                pass
    return general(x, ord, axis, *more, **options)
"""
#: Products of vectors and matrices. Those of views, which may be transposed, and of large arrays are the operator's.
DOT = f"""
def call(a, b, *more, **options):
    if {ALONE}:
        kind = a.__class__
        v = a._content if kind is cls else a._seen if kind is view and a._of is not None else None
        kind = b.__class__
        w = b._content if kind is cls else b._seen if kind is view and b._of is not None else None
        if v.__class__ is plain and w.__class__ is plain and 0 < v.ndim < 3 and 0 < w.ndim < 3:
            if a.__class__ is view or kind is view or v.dtype is bfloat16 or w.dtype is bfloat16:
                return a @ b
            try:
                v = numpys(v, w)
                {{result}}
            except refused:
                pass
    return general(a, b, *more, **options)
"""
OUTER = f"""
def call(x, y, *more, **options):
    if {ALONE}:
        kind = x.__class__
        other = y.__class__
        if (kind is cls or kind is view) and (other is cls or other is view):
            {{a of x}}
            {{b of y}}
            if a.__class__ is plain and b.__class__ is plain and a.ndim == 1 == b.ndim:
                try:
                    v = outer(a, b)
                except refused:
                    return general(x, y)
                r = cls()
                r._content = v if v.size < settings.defer_elements else Value(v)
                return r
    return general(x, y, *more, **options)
"""
#: New arrays of the shape and dtype of another one.
LIKE = f"""
def call(a, dtype=None, *more, **options):
    if {ALONE}:
        kind = a.__class__
        v = a._content if kind is cls else a._seen if kind is view and a._of is not None else None
        if v.__class__ is plain and v.size < settings.defer_elements:
            try:
                w = filled(v.shape, v.dtype if dtype is None else dtype)
            except refused:
                return general(a, dtype)
            if w.dtype in name_of:
                r = cls()
                r._content = w
                return r
    return general(a, dtype, *more, **options)
"""
#: Draws of random numbers, by shapes and parameters that are numbers.
DRAWN = """
def call(*args, **options):
    if listeners or defaults.stack:
        return general(*args, **options)
    for value in args:
        if value.__class__ not in atoms and (value.__class__ is not tuple or not atoms.issuperset(map(type, value))):
            return general(*args, **options)
    if options:
        for name, value in options.items():
            if (value.__class__ not in atoms and (value.__class__ is not tuple or not atoms.issuperset(map(type, value)))) or name in own:
                return general(*args, **options)
    try:
        v = numpys(*args, **options)
    except refused:
        return general(*args, **options)
    if v.__class__ is plain:
        r = cls()
        r._content = v if v.size < settings.defer_elements else Value(v)
        return r
    {scalar}
    return v
"""
FILLED = f"""
def call(shape, dtype=None, *more, **options):
    if {ALONE} and (shape.__class__ is int or shape.__class__ is tuple) and not defaults.stack:
        try:
            v = numpys(shape, dtype)
        except refused:
            return general(shape, dtype)
        if v.dtype in name_of:
            r = cls()
            r._content = v if v.size < settings.defer_elements else Value(v)
            return r
    return general(shape, dtype, *more, **options)
"""
#: Of nested lists that begin with a number. What else is in them NumPy finds, but no records.
CONVERTED = f"""
def call({{given}}, dtype=None, *more, **options):
    if {ALONE}:
        kind = {{given}}.__class__
        if kind is list or kind is tuple:
            first = {{given}}
            while first.__class__ is list or first.__class__ is tuple:
                first = first[0] if first else 0.0
            if first.__class__ is element and not defaults.stack:  # they have no records
                try:
                    {{given}} = list(map(raw, {{given}}))
                except AttributeError:  # not all are elements
                    {{given}} = [k._raw if k.__class__ is element else k for k in {{given}}]
                first = {{given}}[0]
            if first.__class__ in numbers and tls.tape is None and not defaults.stack:
                try:
                    v = array({{given}}, dtype)
                except refused:
                    return general({{given}}, dtype)
                if v.dtype in name_of:
                    r = cls()
                    r._content = v if v.size < settings.defer_elements else Value(v)
                    return r
        elif kind is cls and dtype is None:
            {{same}}
    return general({{given}}, dtype, *more, **options)
"""
COPIED = """v = {given}._content
            if v.__class__ is plain:
                r = cls()
                r._content = v.copy()
                return r"""
JOINED = f"""
def call({{given}}, {{axis}}*more, **options):
    if {ALONE} and ({{given}}.__class__ is list or {{given}}.__class__ is tuple){{one_axis}}:
        ready = []
        for a in {{given}}:
            kind = a.__class__
            if not ({AT_HAND}):
                break
            {{{{v of a}}}}
            if v.__class__ is not plain or v.dtype is bfloat16:
                break
            ready.append(v)
        else:
            try:
                v = numpys({{ready}})
            except refused:
                return general({{given}}, {{passed}}*more, **options)
            if v.ndim < 2 or v.flags.c_contiguous:
                r = cls()
                r._content = v if v.size < settings.defer_elements else Value(v)
                return r
    return general({{given}}, {{passed}}*more, **options)
"""


#: What NumPy writes to a small array that was given for the result.
WRITTEN = """if out is not None:
                if out.__class__ is cls and (v := out._content).__class__ is plain and v.ndim:
                    numpys({operands}, v)
                    return out
                return general(self, {given}, out=out)"""
OF_ONE = """
def call(self, x, /, *more, out=None, **options):
    kind = x.__class__
    if more or options or listeners:
        return general(self, x, *more, out=out, **options)
    if kind is cls or kind is view:
        {a of x}
        if a.__class__ is not plain and function is not None and out is None:
            if kind is view and a.__class__ is Value:  # reading it once more might be recorded once more
                x = cls()
                x._content = a
            return function(x)
    elif kind is element:
        a = x._raw
    elif (kind is float or kind is int) and not defaults.stack:
        a = x
    else:
        return general(self, x, out=out)
    if a.__class__ is not Value and a is not None:
        try:
            WRITTEN
            v = numpys(a)
            {result}
        except refused:
            pass
    return general(self, x, out=out)
""".replace("WRITTEN", WRITTEN.format(operands="a", given="x"))
OF_TWO = """
def call(self, x, y, /, *more, out=None, **options):
    kind = x.__class__
    if more or options or listeners:
        return general(self, x, y, *more, out=out, **options)
    if kind is cls or kind is view:
        {a of x}
        if function is not None and a.__class__ is not plain and out is None:
            if kind is view and a.__class__ is Value:
                x = cls()
                x._content = a
            v = function(x, y)
            return general(self, x, y) if v is NotImplemented else v
    elif kind is element:
        a = x._raw
    elif (kind is float or kind is int) and not defaults.stack:
        a = x
    else:
        return general(self, x, y, out=out)
    kind = y.__class__
    if kind is cls or kind is view:
        {b of y}
    elif kind is element:
        b = y._raw
    elif kind is float or kind is int:
        b = y
    else:
        return general(self, x, y, out=out)
    if a.__class__ is not Value and b.__class__ is not Value and b is not None:
        try:
            WRITTEN
            v = numpys(a, b)
            {result}
        except refused:
            pass
    return general(self, x, y, out=out)
""".replace("WRITTEN", WRITTEN.format(operands="a, b", given="x, y"))
