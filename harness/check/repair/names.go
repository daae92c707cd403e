package repair

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/goassay/assay/engine/jinja"
	"github.com/goassay/assay/engine/jinja/flow"
	"github.com/goassay/assay/engine/jinja/syntax"
	"github.com/goassay/assay/engine/source"
)

// The names that other template engines, and Python itself, use for things that the language has
// under another name.
var (
	// filters that are another filter
	filterAliases = map[string]string{
		"to_json": "tojson", "json": "tojson", "jsonify": "tojson", "dumps": "tojson",
		"json_dumps":  "tojson",
		"json_encode": "tojson", "toJSON": "tojson", "len": "length", "size": "length",
		"str":       "string",
		"to_string": "string", "tostring": "string", "strip": "trim", "lowercase": "lower",
		"downcase":  "lower",
		"uppercase": "upper", "upcase": "upper", "to_int": "int", "integer": "int",
		"to_float": "float", "sorted": "sort",
		"reversed": "reverse", "uniq": "unique", "html_escape": "escape",
		"default_if_none": "default",
	}
	// filters that are a method
	filterMethods = []string{
		"split",
		"rsplit",
		"splitlines",
		"lstrip",
		"rstrip",
		"startswith",
		"endswith",
		"removeprefix",
		"removesuffix",
		"keys",
		"values",
		"find",
		"isdigit",
		"lstrip",
		"casefold",
	}
	// tests that are another test
	testAliases = map[string]string{
		"dict": "mapping", "object": "mapping", "str": "string", "bool": "boolean",
		"int": "integer", "null": "none",
		"nil": "none", "present": "defined", "missing": "undefined", "callable": "callable",
	}
	// tests that are a method
	testMethods = map[string]string{
		"startswith": "startswith", "startingwith": "startswith", "starting_with": "startswith",
		"starts_with": "startswith",
		"endswith":    "endswith", "endingwith": "endswith", "ending_with": "endswith",
		"ends_with": "endswith",
	}
	// functions that are a filter
	functionFilters = map[string]string{
		"len": "length", "str": "string", "int": "int", "float": "float", "list": "list",
		"sorted": "sort", "sum": "sum",
		"min": "min", "max": "max", "abs": "abs", "round": "round", "reversed": "reverse",
		"tojson":  "tojson",
		"to_json": "tojson", "json_dumps": "tojson", "length": "length", "repr": "pprint",
	}
	// functions that are another function
	functionAliases = map[string]string{
		"raise": "raise_exception", "raise_error": "raise_exception", "throw": "raise_exception",
		"throw_exception": "raise_exception", "raise_exeception": "raise_exception",
		"error": "raise_exception",
		"fail":  "raise_exception", "exception": "raise_exception",
	}
)

// Names are the names in a template that the language does not have.
type Names struct {
	Mended  []string      // those that it has under another name
	Edits   []syntax.Edit // that write the other names, in order; apart
	Unknown []Unknown     // the others
}

// Unknown is a name that nothing in the language replaces.
type Unknown struct {
	Off  int
	What string // such as: the filter "to_yaml"
}

// NamesIn looks for the names of filters, tests and functions that the language does not have. The
// error is that of a text that is no template.
func NamesIn(src *source.Source) (Names, error) {
	tree, spans, err := syntax.ParseSpans(src)
	if err != nil {
		return Names{}, err
	}
	n := &namer{text: src.Text, spans: spans, model: flow.New(tree)}
	for _, s := range tree.Body {
		n.look(s)
	}
	sorted(n.Edits)
	return n.Names, nil
}

// sorted sorts edits by their places.
func sorted(edits []syntax.Edit) []syntax.Edit {
	slices.SortStableFunc(edits, func(a, b syntax.Edit) int {
		return cmp.Or(cmp.Compare(a.From, b.From), cmp.Compare(a.To, b.To))
	})
	return edits
}

// namer looks for names that the language does not have.
type namer struct {
	Names
	text  string
	spans *syntax.Spans
	model *flow.Model
}

func (n *namer) look(node syntax.Node) {
	switch x := node.(type) {
	case *syntax.Filter:
		if !jinja.HasFilter(x.Name) && x.X != nil {
			n.filter(x)
		}
	case *syntax.Unary:
		if t, ok := x.X.(*syntax.Test); ok && x.Op == "not" {
			n.test(t, x)
			n.look(t.X)
			return
		}
	case *syntax.Test:
		n.test(x, x)
	case *syntax.Call:
		n.call(x)
	}
	for _, c := range syntax.Children(node) {
		n.look(c)
	}
}

func (n *namer) mend(name string, edits ...syntax.Edit) {
	n.Mended = append(n.Mended, name)
	n.Edits = append(n.Edits, edits...)
}

func (n *namer) filter(x *syntax.Filter) {
	at := x.Offset()
	end := at + len(x.Name)
	if other, ok := filterAliases[x.Name]; ok {
		n.mend(x.Name, syntax.Edit{From: at, To: end, Text: other})
		return
	}
	bar := strings.LastIndexByte(n.text[:at], '|')
	if slices.Contains(filterMethods, x.Name) && bar >= n.spans.Expr(x.X).To {
		operand := n.spans.Expr(x.X)
		edits := []syntax.Edit{{From: operand.To, To: end, Text: "." + x.Name}}
		if !primary(x.X) && n.text[operand.From] != '(' {
			edits = []syntax.Edit{{From: operand.From, To: operand.From, Text: "("},
				{From: operand.To, To: end, Text: ")." + x.Name}}
		}
		if !strings.HasPrefix(strings.TrimLeft(n.text[end:], " "), "(") {
			edits[len(edits)-1].Text += "()"
		}
		n.mend(x.Name, edits...)
		return
	}
	n.Unknown = append(n.Unknown, Unknown{at, fmt.Sprintf("the filter %q", x.Name)})
}

// primary reports whether a method may be called on an expression without parentheses around it.
func primary(x syntax.Expr) bool {
	switch x.(type) {
	case *syntax.Name, *syntax.Attr, *syntax.Item, *syntax.Call:
		return true
	}
	return false
}

// test mends a test; whole is the test with its negation.
func (n *namer) test(x *syntax.Test, whole syntax.Expr) {
	if jinja.HasTest(x.Name) {
		return
	}
	operand, span := n.spans.Expr(x.X), n.spans.Expr(whole)
	at := operand.To + strings.LastIndex(n.text[operand.To:span.To], x.Name)
	text := n.text[operand.From:operand.To]
	not := ""
	if whole != syntax.Expr(x) {
		not = "not "
	}
	switch other, method := testAliases[x.Name], testMethods[x.Name]; {
	case other != "":
		n.mend(x.Name, syntax.Edit{From: at, To: at + len(x.Name), Text: other})
	case (x.Name == "list" || x.Name == "array") && Simple(x.X):
		n.mend(x.Name, syntax.Edit{From: span.From, To: span.To,
			Text: fmt.Sprintf("%s(%s is sequence and %s is not "+
				"string and %s is not mapping)", not, text, text, text)})
	case method != "" && primary(x.X) && len(x.Args.Args) == 1:
		arg := n.spans.Expr(x.Args.Args[0])
		n.mend(x.Name, syntax.Edit{From: span.From, To: span.To,
			Text: fmt.Sprintf("%s%s.%s(%s)", not, text, method, inner(n.text[arg.From:arg.To]))})
	case x.Name == "contains" && len(x.Args.Args) == 1:
		arg := n.spans.Expr(x.Args.Args[0])
		n.mend(x.Name, syntax.Edit{From: span.From, To: span.To,
			Text: fmt.Sprintf("(%s %sin %s)", inner(n.text[arg.From:arg.To]), not, text)})
	default:
		n.Unknown = append(n.Unknown, Unknown{at, fmt.Sprintf("the test %q", x.Name)})
	}
}

// inner is the text of an expression without the parentheses around it.
func inner(text string) string {
	if strings.HasPrefix(text, "(") && strings.HasSuffix(text, ")") &&
		strings.Count(text, "(") == 1 {
		return text[1 : len(text)-1]
	}
	return text
}

// call mends the call of a function that only Python or another engine has.
func (n *namer) call(x *syntax.Call) {
	span := n.spans.Expr(x)
	if a, ok := x.Func.(*syntax.Attr); ok && a.Name == "dumps" && len(x.Args.Args) == 1 &&
		len(x.Keywords) == 0 {
		if of, ok := a.X.(*syntax.Name); ok && of.Name == "json" && !n.model.Assigns("json") {
			n.asFilter("json.dumps", span, x.Args.Args[0], "tojson")
		}
		return
	}
	f, ok := x.Func.(*syntax.Name)
	if !ok || n.model.Assigns(f.Name) || jinja.HasFunction(f.Name) {
		return
	}
	if other, ok := functionAliases[f.Name]; ok {
		n.mend(f.Name, syntax.Edit{From: f.Offset(), To: f.Offset() + len(f.Name), Text: other})
		return
	}
	if other, ok := functionFilters[f.Name]; ok && len(x.Args.Args) == 1 && len(x.Keywords) == 0 {
		n.asFilter(f.Name, span, x.Args.Args[0], other)
	}
}

// asFilter writes a call with one argument as a filter of the argument.
func (n *namer) asFilter(name string, call syntax.Span, arg syntax.Expr, filter string) {
	span := n.spans.Expr(arg)
	open, end := "(", "|"+filter+")"
	if _, isFilter := arg.(*syntax.Filter); !primary(arg) && !isFilter {
		open, end = "((", ")|"+filter+")"
	}
	n.mend(name, syntax.Edit{From: call.From, To: span.From, Text: open},
		syntax.Edit{From: span.To, To: call.To, Text: end})
}

// Simple reports whether an expression may well be written twice.
func Simple(x syntax.Expr) bool {
	switch x := x.(type) {
	case *syntax.Name:
		return true
	case *syntax.Attr:
		return Simple(x.X)
	case *syntax.Item:
		_, isConst := x.Index.(*syntax.Const)
		_, isName := x.Index.(*syntax.Name)
		return (isConst || isName) && Simple(x.X)
	}
	return false
}
