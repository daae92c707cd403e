"""A stand-in for packages that an engine imports and that its parsers never call.

vLLM imports torch, which is gigabytes, at the top of modules that its parsers come from. Every name
of a stood-in package is a class that can be called, subclassed, indexed, compared and added.
"""

import abc, importlib.abc, importlib.machinery, os, sys, types


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


def vllm():
    """Let vLLM's modules be imported from ASSAY_VLLM, its unpacked wheel without its compiled
    modules, and return its version."""
    os.environ.setdefault("VLLM_LOGGING_LEVEL", "ERROR")
    os.environ.setdefault("VLLM_NO_USAGE_STATS", "1")
    install("torch", "torchvision", "torchaudio", "triton")
    root = os.environ["ASSAY_VLLM"]
    sys.path.insert(0, root)
    package = types.ModuleType("vllm")  # its __init__ patches torch
    package.__path__ = [os.path.join(root, "vllm")]
    with open(os.path.join(root, "VERSION"), encoding="utf-8") as f:
        package.__version__ = f.read().strip()
    sys.modules["vllm"] = package
    return package.__version__


def tokenizer(*markers):
    """Return a tokeniser of the package tokenizers: a token for each byte and for each marker."""
    from tokenizers import AddedToken, Tokenizer, decoders, models, pre_tokenizers

    alphabet = sorted(pre_tokenizers.ByteLevel.alphabet())
    raw = Tokenizer(models.BPE(vocab={c: i for i, c in enumerate(alphabet)}, merges=[]))
    raw.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)
    raw.decoder = decoders.ByteLevel()
    raw.add_tokens([AddedToken(t, normalized=False) for t in markers])
    return raw
