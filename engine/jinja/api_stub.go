package jinja

// The functions that the interpreter uses; bodies are being written in ops.go, compare.go, lookup.go, iterate.go, pystr.go,
// filters.go, tests.go, globals.go.

type iterator struct {
	seq   *list
	dict  *view
	gen   *generator
	str   Value
	rng   *rangeObject
	pos   int
	size  int
	next_ func(*eval) (Value, bool, error)
}

func iterate(e *eval, v Value) (iterator, error)                             { return iterator{}, nil } // iter(v); TypeError, UndefinedError never (empty)
func (it *iterator) next(e *eval) (Value, bool, error)                       { return Value{}, false, nil }
func (it *iterator) nextPair(e *eval) (k, v Value, ok, pair bool, err error) { return } // for "for k, v in": items() without building tuples; pair false: unpack k yourself
func length(e *eval, v Value) (int, error)                                   { return 0, nil }
func truth(e *eval, v Value) (bool, error)                                   { return false, nil }

// attr is an attribute's name, resolved once at compile time: which kinds have a method of that name.
type attr struct {
	name    string
	methods [Object + 1]*builtin
}

func newAttr(name string) *attr { return &attr{name: name} }

func getattr(e *eval, v Value, a *attr) (Value, error)            { return Value{}, nil } // environment.getattr with the sandbox
func getitem(e *eval, v, key Value) (Value, error)                { return Value{}, nil } // environment.getitem
func getslice(e *eval, v, start, stop, step Value) (Value, error) { return Value{}, nil } // None or Missing for an absent bound
func callMethod(e *eval, v Value, a *attr, args []Value, kwargs []kwarg) (Value, error) {
	return Value{}, nil
} // v.name(args) without a bound method

func add(e *eval, a, b Value) (Value, error)      { return Value{}, nil }
func sub(e *eval, a, b Value) (Value, error)      { return Value{}, nil }
func mul(e *eval, a, b Value) (Value, error)      { return Value{}, nil }
func truediv(e *eval, a, b Value) (Value, error)  { return Value{}, nil }
func floordiv(e *eval, a, b Value) (Value, error) { return Value{}, nil }
func mod(e *eval, a, b Value) (Value, error)      { return Value{}, nil } // % formatting included
func pow(e *eval, a, b Value) (Value, error)      { return Value{}, nil }
func neg(e *eval, a Value) (Value, error)         { return Value{}, nil }
func pos(e *eval, a Value) (Value, error)         { return Value{}, nil }
func concat(e *eval, vals []Value) (Value, error) { return Value{}, nil } // the ~ operator; markup_join when e.autoescape

func equal(e *eval, a, b Value) (bool, error)               { return false, nil }
func compare(e *eval, op string, a, b Value) (bool, error)  { return false, nil } // "==", "!=", "<", "<=", ">", ">="
func contains(e *eval, container, item Value) (bool, error) { return false, nil } // item in container

func str(e *eval, v Value) (Value, error)       { return v, nil } // str(v) with runs; Markup stays Markup
func repr(e *eval, v Value) (Value, error)      { return v, nil }
func (b *builder) print(e *eval, v Value) error { return nil }    // appends str(v) to an output, without an intermediate string
func escape(e *eval, v Value) (Value, error)    { return v, nil } // markupsafe.escape: to Markup
func reprText(e *eval, v Value) string          { return "" }
func pyQuote(s string) string                   { return s } // repr of a str

func lookupFilter(name string) *builtin      { return nil } // nil: unknown
func lookupTest(name string) *builtin        { return nil }
func lookupGlobal(name string) (Value, bool) { return Value{}, false } // range, dict, lipsum, cycler, joiner, namespace, raise_exception, strftime_now
