package gonja

import (
	"errors"
	"fmt"
	"io"
	"maps"
	"strconv"
	"strings"
	"time"

	"github.com/nikolalohinski/gonja/v2/builtins"
	"github.com/nikolalohinski/gonja/v2/exec"
	"github.com/nikolalohinski/gonja/v2/nodes"
	"github.com/nikolalohinski/gonja/v2/parser"
	"github.com/nikolalohinski/gonja/v2/tokens"
)

// maxRange bounds range, whose items stand in memory here.
const maxRange = 100_000

// environment returns gonja's own environment with transformers' additions to jinja2's, and with
// replacements for the parts in which gonja differs from both. It is made anew for every template,
// since gonja's sets can change while it runs.
func environment(now func() (time.Time, error)) *exec.Environment {
	filters := exec.NewFilterSet(map[string]exec.FilterFunction{}).Update(builtins.Filters)
	for name, f := range map[string]exec.FilterFunction{"tojson": tojson, "items": itemsFilter,
		"string": stringFilter} {
		filters.Replace(name, f)
	}
	own := map[string]parser.ControlStructureParser{"generation": parseGeneration}
	structures := exec.NewControlStructureSet(own).Update(builtins.ControlStructures)
	globals := exec.EmptyContext().Update(builtins.GlobalFunctions).
		Update(exec.NewContext(map[string]any{
			"range":           rangeOf,
			"namespace":       namespace,
			"raise_exception": raise,
			"strftime_now": func(_ *exec.Evaluator, args *exec.VarArgs) (string, error) {
				t, err := now()
				if err != nil || len(args.Args) != 1 {
					return "", errors.Join(err, wrongCount(args, 1))
				}
				return strftime(t, args.Args[0].String()), nil
			},
		}))
	methods := builtins.Methods
	methods.Dict = exec.NewMethodSet(dictMethods())
	methods.Str = exec.NewMethodSet(strMethods())
	return &exec.Environment{Context: globals, Filters: filters, Tests: builtins.Tests,
		ControlStructures: structures, Methods: methods}
}

func wrongCount(args *exec.VarArgs, want int) error {
	if len(args.Args) == want {
		return nil
	}
	return fmt.Errorf("expected %d arguments, found %d", want, len(args.Args))
}

func raise(_ *exec.Evaluator, args *exec.VarArgs) (string, error) {
	if err := wrongCount(args, 1); err != nil {
		return "", err
	}
	return "", errors.New(args.Args[0].String())
}

// rangeOf replaces gonja's range, whose goroutine never ends unless all its items are used.
func rangeOf(_ *exec.Evaluator, args *exec.VarArgs) (list, error) {
	bounds := [3]int{0, 0, 1}
	switch len(args.Args) {
	case 1:
		bounds[1] = args.Args[0].Integer()
	case 2, 3:
		for i, a := range args.Args {
			bounds[i] = a.Integer()
		}
	default:
		return nil, wrongCount(args, 1)
	}
	start, stop, step := bounds[0], bounds[1], bounds[2]
	if step == 0 {
		return nil, errors.New("range: the step is zero")
	}
	items := list{}
	for i := start; step > 0 && i < stop || step < 0 && i > stop; i += step {
		if len(items) == maxRange {
			return nil, fmt.Errorf("range: more than %d items", maxRange)
		}
		items = append(items, i)
	}
	return items, nil
}

func namespace(_ *exec.Evaluator, args *exec.VarArgs) (map[string]any, error) {
	ns := map[string]any{}
	for _, a := range args.Args {
		if !a.IsDict() {
			return nil, errors.New("namespace: expected a dictionary")
		}
		for _, p := range pairsOf(a) {
			ns[p.Key.String()] = unwrap(p.Value)
		}
	}
	for key, v := range args.KwArgs {
		ns[key] = unwrap(v)
	}
	return ns, nil
}

// tojson is transformers': json.dumps without HTML escapes.
func tojson(_ *exec.Evaluator, in *exec.Value, args *exec.VarArgs) *exec.Value {
	if in.IsError() {
		return in
	}
	style := jsonStyle{comma: ", ", colon: ": "}
	named := maps.Clone(args.KwArgs)
	for i, a := range args.Args {
		if i < 4 {
			named[[4]string{"ensure_ascii", "indent", "separators", "sort_keys"}[i]] = a
		}
	}
	for name, v := range named {
		switch name {
		case "ensure_ascii":
			style.ascii = v.IsTrue()
		case "sort_keys":
			style.sort = v.IsTrue()
		case "indent":
			if style.pretty = !v.IsNil(); v.IsInteger() {
				style.indent = strings.Repeat(" ", max(0, min(v.Integer(), 100)))
			} else {
				style.indent = v.String()
			}
		case "separators":
			if v.IsNil() {
				continue
			}
			if !v.IsList() || v.Len() != 2 {
				return exec.AsValue(errors.New("tojson: separators must be two strings"))
			}
		default:
			return exec.AsValue(fmt.Errorf("tojson: unknown argument %q", name))
		}
	}
	if style.pretty {
		style.comma = ","
	}
	if s := named["separators"]; s != nil && !s.IsNil() {
		style.comma, style.colon = s.Index(0).String(), s.Index(1).String()
	}
	var b strings.Builder
	if err := writeJSON(&b, in, style, 0); err != nil {
		return exec.AsValue(err)
	}
	return exec.AsValue(b.String())
}

// itemsFilter gives a dictionary's pairs in order, and nothing for an undefined one.
func itemsFilter(_ *exec.Evaluator, in *exec.Value, _ *exec.VarArgs) *exec.Value {
	switch {
	case in.IsError():
		return in
	case in.IsNil():
		return exec.AsValue(list{})
	case !in.IsDict():
		return exec.AsValue(errors.New("items: can only get item pairs from a mapping"))
	}
	return exec.AsValue(items(in))
}

func items(v *exec.Value) list {
	pairs := list{}
	for _, p := range pairsOf(v) {
		pairs = append(pairs, list{unwrap(p.Key), unwrap(p.Value)})
	}
	return pairs
}

// stringFilter writes None as Python does; gonja writes nothing.
func stringFilter(_ *exec.Evaluator, in *exec.Value, _ *exec.VarArgs) *exec.Value {
	switch {
	case in.IsError():
		return in
	case in.IsNil():
		return exec.AsValue("None")
	}
	return exec.AsValue(in.String())
}

// dictMethods replaces gonja's methods, which see a Go map and so have lost the order.
func dictMethods() map[string]exec.Method[map[string]any] {
	type method = exec.Method[map[string]any]
	each := func(pick func(*exec.Pair) any) method {
		return func(_ map[string]any, self *exec.Value, args *exec.VarArgs) (any, error) {
			picked := list{}
			for _, p := range pairsOf(self) {
				picked = append(picked, pick(p))
			}
			return picked, wrongCount(args, 0)
		}
	}
	own := map[string]method{
		"keys":   each(func(p *exec.Pair) any { return unwrap(p.Key) }),
		"values": each(func(p *exec.Pair) any { return unwrap(p.Value) }),
		"items":  each(func(p *exec.Pair) any { return list{unwrap(p.Key), unwrap(p.Value)} }),
		"get": func(_ map[string]any, self *exec.Value, args *exec.VarArgs) (any, error) {
			if n := len(args.Args); n != 1 && n != 2 {
				return nil, wrongCount(args, 1)
			}
			for _, p := range pairsOf(self) {
				if p.Key.EqualValueTo(args.Args[0]) {
					return unwrap(p.Value), nil
				}
			}
			if len(args.Args) == 2 {
				return unwrap(args.Args[1]), nil
			}
			return nil, nil
		},
	}
	for _, name := range [...]string{"copy", "update", "pop", "setdefault", "clear"} {
		if m, ok := builtins.Methods.Dict.Get(name); ok {
			own[name] = m
		}
	}
	return own
}

// stringMethodNames are the methods of gonja's strings that are kept; strMethods adds those that it
// lacks or gets wrong.
var stringMethodNames = [...]string{
	"capitalize", "casefold", "center", "encode", "expandtabs", "find", "format", "index",
	"isalnum", "isalpha", "isascii", "isdecimal", "isdigit", "isidentifier", "islower", "isnumeric",
	"isprintable", "isspace", "istitle", "isupper", "join", "ljust", "lower", "partition",
	"removeprefix", "removesuffix", "rfind", "rindex", "rjust", "rpartition", "rsplit", "split",
	"splitlines", "swapcase", "title", "translate", "upper", "zfill",
}

func strMethods() map[string]exec.Method[string] {
	type method = exec.Method[string]
	own := map[string]method{}
	for _, name := range stringMethodNames {
		if m, ok := builtins.Methods.Str.Get(name); ok {
			own[name] = m
		}
	}
	strip := func(trim func(s, cutset string) string) method {
		return func(self string, _ *exec.Value, args *exec.VarArgs) (any, error) {
			switch {
			case len(args.Args) == 0 || args.Args[0].IsNil():
				return trim(self, " \t\n\r\v\f\x1c\x1d\x1e\x1f\u0085\u00a0\u1680\u2000\u2001\u2002\u2003\u2004\u2005\u2006\u2007\u2008\u2009\u200a\u2028\u2029\u202f\u205f\u3000"), nil
			case len(args.Args) == 1 && args.Args[0].IsString():
				return trim(self, args.Args[0].String()), nil
			}
			return nil, errors.New("strip: expected a string")
		}
	}
	for _, name := range [...]string{"split", "rsplit", "splitlines"} {
		if m, ok := own[name]; ok {
			own[name] = func(self string, v *exec.Value, args *exec.VarArgs) (any, error) {
				parts, err := m(self, v, args)
				if err != nil {
					return nil, err
				}
				texts := list{}
				exec.AsValue(parts).Iterate(func(_, _ int, part, _ *exec.Value) bool {
					texts = append(texts, part.String())
					return true
				}, func() {})
				return texts, nil
			}
		}
	}
	own["strip"], own["lstrip"], own["rstrip"] = strip(strings.Trim), strip(strings.TrimLeft),
		strip(strings.TrimRight)
	own["count"] = func(self string, _ *exec.Value, args *exec.VarArgs) (any, error) {
		if err := wrongCount(args, 1); err != nil {
			return nil, err
		}
		return strings.Count(self, args.Args[0].String()), nil
	}
	own["replace"] = func(self string, _ *exec.Value, args *exec.VarArgs) (any, error) {
		n := -1
		switch {
		case len(args.Args) == 3 && args.Args[2].IsInteger():
			n = args.Args[2].Integer()
		case len(args.Args) != 2:
			return nil, wrongCount(args, 2)
		case args.KwArgs["count"] != nil:
			n = args.KwArgs["count"].Integer()
		}
		return strings.Replace(self, args.Args[0].String(), args.Args[1].String(), n), nil
	}
	affix := func(has func(s, affix string) bool) method {
		return func(self string, _ *exec.Value, args *exec.VarArgs) (any, error) {
			if err := wrongCount(args, 1); err != nil {
				return nil, err
			}
			a := args.Args[0]
			if !a.IsList() {
				return has(self, a.String()), nil
			}
			for i := range a.Len() {
				if has(self, a.Index(i).String()) {
					return true, nil
				}
			}
			return false, nil
		}
	}
	own["startswith"], own["endswith"] = affix(strings.HasPrefix), affix(strings.HasSuffix)
	return own
}

// generation is transformers' generation block: it renders its body.
type generation struct {
	at   *tokens.Token
	body *nodes.Wrapper
}

func parseGeneration(p, args *parser.Parser) (nodes.ControlStructure, error) {
	at := p.Current()
	if !args.End() {
		return nil, args.Error("generation takes no arguments", args.Current())
	}
	body, _, err := p.WrapUntil("endgeneration")
	return &generation{at, body}, err
}

// Position implements gonja's nodes.Node.
func (g *generation) Position() *tokens.Token { return g.at }

// String implements gonja's nodes.Node.
func (g *generation) String() string { return "generation" }

// Execute implements gonja's exec.ControlStructure. The body is rendered apart, like the call block
// that it is in jinja2.
func (g *generation) Execute(r *exec.Renderer, _ *nodes.ControlStructureBlock) error {
	var body strings.Builder
	sub := r.Inherit()
	sub.Output = &body
	if err := sub.ExecuteWrapper(g.body); err != nil {
		return err
	}
	_, err := io.WriteString(r.Output, body.String())
	return err
}

// strftime formats a time as Python's strftime does in the C locale; an unknown directive stays as
// it is.
func strftime(t time.Time, format string) string {
	layouts := map[byte]string{'Y': "2006", 'y': "06", 'm': "01", 'B': "January", 'b': "Jan",
		'h': "Jan", 'd': "02", 'e': "_2", 'A': "Monday", 'a': "Mon",
		'H': "15", 'I': "03", 'M': "04", 'S': "05", 'p': "PM", 'f': "000000", 'F': "2006-01-02",
		'T': "15:04:05", 'R': "15:04", 'D': "01/02/06",
		'c': "Mon Jan _2 15:04:05 2006", 'x': "01/02/06", 'X': "15:04:05"}
	var b strings.Builder
	for i := 0; i < len(format); i++ {
		if format[i] != '%' || i+1 == len(format) {
			b.WriteByte(format[i])
			continue
		}
		i++
		bare := format[i] == '-' && i+1 < len(format)
		if bare {
			i++
		}
		var text string
		switch c := format[i]; c {
		case '%':
			text = "%"
		case 'n':
			text = "\n"
		case 't':
			text = "\t"
		case 'j':
			text = fmt.Sprintf("%03d", t.YearDay())
		case 'w':
			text = strconv.Itoa(int(t.Weekday()))
		case 'u':
			text = strconv.Itoa((int(t.Weekday())+6)%7 + 1)
		case 'f':
			text = fmt.Sprintf("%06d", t.Nanosecond()/1000)
		case 'z', 'Z': // the clock has no zone, as Python's naive time
		default:
			if layout, ok := layouts[c]; ok {
				text = t.Format(layout)
			} else {
				text = "%" + string(c)
			}
		}
		if bare {
			text = strings.TrimLeft(text, "0 ")
			if text == "" {
				text = "0"
			}
		}
		b.WriteString(text)
	}
	return b.String()
}
