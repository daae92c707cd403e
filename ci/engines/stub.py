"""A stand-in for packages that an engine imports and that its parsers never call.

vLLM imports torch, which is gigabytes, at the top of modules that its parsers come from. Every name
of a stood-in package is a class that can be called, subclassed, indexed, compared and added.
"""

import abc, importlib.abc, importlib.machinery, sys, types


class Meta(abc.ABCMeta):
    def __getattr__(cls, n):
        if n.startswith("__") and n.endswith("__"):
            raise AttributeError(n)
        return make(cls.__name__ + "." + n)

    def __or__(cls, o):
        return object

    def __ror__(cls, o):
        return object

    def __iter__(cls):
        return iter(())

    def __getitem__(cls, i):
        return cls

    def __setitem__(cls, i, v):
        pass

    def __contains__(cls, i):
        return False

    def __len__(cls):
        return 0

    def __add__(cls, o):
        return o

    __radd__ = __sub__ = __rsub__ = __mul__ = __rmul__ = __add__

    def __bool__(cls):
        return False

    def __lt__(cls, o):
        return False

    __gt__ = __le__ = __ge__ = __lt__

    def __call__(cls, *a, **k):
        if (
            len(a) == 1
            and not k
            and (isinstance(a[0], types.FunctionType) or isinstance(a[0], type))
        ):
            return a[0]
        return type.__call__(cls, *a, **k)

    def __hash__(cls):
        return id(cls)

    def __eq__(cls, o):
        return cls is o


class Base(metaclass=Meta):
    def __init__(self, *a, **k):
        pass

    def __init_subclass__(cls, **k):
        pass

    def __call__(self, *a, **k):
        if (
            len(a) == 1
            and not k
            and (isinstance(a[0], types.FunctionType) or isinstance(a[0], type))
        ):
            return a[0]
        return Base()

    def __getattr__(self, n):
        if n.startswith("__") and n.endswith("__"):
            raise AttributeError(n)
        return make(n)

    def __getitem__(self, i):
        return self

    def __iter__(self):
        return iter(())

    def __add__(self, o):
        return o

    __radd__ = __sub__ = __rsub__ = __mul__ = __rmul__ = __add__

    def __setitem__(self, i, v):
        pass

    def __contains__(self, i):
        return False

    def __len__(self):
        return 0

    def __bool__(self):
        return False

    def __lt__(self, o):
        return False

    __gt__ = __le__ = __ge__ = __lt__

    def __or__(self, o):
        return object

    __ror__ = __or__

    def __enter__(self):
        return self

    def __exit__(self, *a):
        return False


def make(name):
    return Meta(name.rsplit(".", 1)[-1] or "x", (Base,), {"__module__": "stub"})


class Module(types.ModuleType):
    def __getattr__(self, n):
        if n == "__version__":
            return "2.9.0"
        if n.startswith("__") and n.endswith("__"):
            raise AttributeError(n)
        full = self.__name__ + "." + n
        if full in absent:
            raise AttributeError(n)
        if full in sys.modules:
            return sys.modules[full]
        v = make(full)
        setattr(self, n, v)
        return v


class Finder(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    def __init__(self, roots):
        self.roots = set(roots)

    def find_spec(self, name, path=None, target=None):
        parts = name.split(".")
        if any(".".join(parts[:i]) in self.roots for i in range(1, len(parts) + 1)):
            return importlib.machinery.ModuleSpec(name, self, is_package=True)

    def create_module(self, spec):
        m = Module(spec.name)
        m.__path__ = []
        return m

    def exec_module(self, m):
        pass


absent = set()  # names that a stood-in package is asked for and must not have


def install(*roots):
    sys.meta_path.insert(0, Finder(roots))
