package repair

import (
	"fmt"
	"slices"
	"strings"

	"github.com/goassay/assay/engine/jinja"
	"github.com/goassay/assay/engine/jinja/edit"
	"github.com/goassay/assay/engine/source"
)

// The names that other template engines, and Python itself, use for things that the language has
// under another name.
var (
	// filters that are another filter
	filterAliases = map[string]string{
		"to_json": "tojson", "json": "tojson", "jsonify": "tojson", "dumps": "tojson",
		"json_dumps": "tojson", "json_encode": "tojson", "toJSON": "tojson", "len": "length",
		"size": "length", "str": "string", "to_string": "string", "tostring": "string",
		"strip": "trim", "lowercase": "lower", "downcase": "lower", "uppercase": "upper",
		"upcase": "upper", "to_int": "int", "integer": "int", "to_float": "float", "sorted": "sort",
		"reversed": "reverse", "uniq": "unique", "html_escape": "escape",
		"default_if_none": "default",
	}
	// filters that are a method
	filterMethods = []string{
		"split", "rsplit", "splitlines", "lstrip", "rstrip", "startswith", "endswith",
		"removeprefix", "removesuffix", "keys", "values", "find", "isdigit", "lstrip", "casefold",
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
		"starts_with": "startswith", "endswith": "endswith", "endingwith": "endswith",
		"ending_with": "endswith", "ends_with": "endswith",
	}
	// functions that are a filter
	functionFilters = map[string]string{
		"len": "length", "str": "string", "int": "int", "float": "float", "list": "list",
		"sorted": "sort", "sum": "sum", "min": "min", "max": "max", "abs": "abs", "round": "round",
		"reversed": "reverse", "tojson": "tojson", "to_json": "tojson", "json_dumps": "tojson",
		"length": "length", "repr": "pprint",
	}
	// functions that are another function
	functionAliases = map[string]string{
		"raise": "raise_exception", "raise_error": "raise_exception", "throw": "raise_exception",
		"throw_exception": "raise_exception", "raise_exeception": "raise_exception",
		"error": "raise_exception", "fail": "raise_exception", "exception": "raise_exception",
	}
)

// Names are the names in a template that the language does not have.
type Names struct {
	Mended  []string    // those that it has under another name
	Edits   []edit.Edit // that write the other names, in order; apart
	Unknown []Unknown   // the others
}

// Unknown is a name that nothing in the language replaces.
type Unknown struct {
	Off  int
	What string // such as: the filter "to_yaml"
}

// NamesIn looks for the names of filters, tests and functions that the language does not have. The
// error is that of a text that is no template.
func NamesIn(src *source.Source) (Names, error) {
	t, err := edit.Parse(src)
	if err != nil {
		return Names{}, err
	}
	return namesIn(t), nil
}

func namesIn(t *edit.Template) Names {
	n := &namer{Template: t}
	for x := range t.All() {
		switch {
		case x.Is(edit.Filter) && x.X != nil && !jinja.HasFilter(x.Word):
			n.filter(x)
		case x.Is(edit.Test) && !jinja.HasTest(x.Word):
			n.test(x)
		case x.Is(edit.Call):
			n.call(x)
		}
	}
	edit.Sorted(n.Edits)
	return n.Names
}

// namer looks for names that the language does not have.
type namer struct {
	Names
	*edit.Template
}

func (n *namer) mend(name string, edits ...edit.Edit) {
	n.Mended = append(n.Mended, name)
	n.Edits = append(n.Edits, edits...)
}

func (n *namer) unknown(off int, sort, name string) {
	n.Unknown = append(n.Unknown, Unknown{off, fmt.Sprintf("the %s %q", sort, name)})
}

func (n *namer) filter(x *edit.Node) {
	end := x.Off + len(x.Word)
	if other, ok := filterAliases[x.Word]; ok {
		n.mend(x.Word, edit.Edit{From: x.Off, To: end, Text: other})
		return
	}
	bar := strings.LastIndexByte(n.Text[:x.Off], '|')
	if !slices.Contains(filterMethods, x.Word) || bar < x.X.To {
		n.unknown(x.Off, "filter", x.Word)
		return
	}
	method := "." + x.Word
	if !strings.HasPrefix(strings.TrimLeft(n.Text[end:], " "), "(") {
		method += "()"
	}
	var edits []edit.Edit
	if !x.X.IsPrimary() && x.X.Source[0] != '(' {
		edits, method = []edit.Edit{edit.Insert(x.X.From, "(")}, ")"+method
	}
	n.mend(x.Word, append(edits, edit.Edit{From: x.X.To, To: end, Text: method})...)
}

// test mends a test, with its negation.
func (n *namer) test(x *edit.Node) {
	whole, not := x.Span, ""
	if x.Up.Is(edit.Unary, "not") {
		whole, not = x.Up.Span, "not "
	}
	at := x.X.To + strings.LastIndex(n.Text[x.X.To:whole.To], x.Word)
	text, arg := x.X.Source, ""
	if len(x.Args) == 1 {
		arg = inner(x.Args[0].Source)
	}
	switch other, method := testAliases[x.Word], testMethods[x.Word]; {
	case other != "":
		n.mend(x.Word, edit.Edit{From: at, To: at + len(x.Word), Text: other})
	case (x.Word == "list" || x.Word == "array") && x.X.Simple():
		n.mend(x.Word, whole.Replaced(fmt.Sprintf("%s(%[2]s is sequence and %[2]s is not "+
			"string and %[2]s is not mapping)", not, text)))
	case method != "" && x.X.IsPrimary() && arg != "":
		n.mend(x.Word, whole.Replaced(fmt.Sprintf("%s%s.%s(%s)", not, text, method, arg)))
	case x.Word == "contains" && arg != "":
		n.mend(x.Word, whole.Replaced(fmt.Sprintf("(%s %sin %s)", arg, not, text)))
	default:
		n.unknown(at, "test", x.Word)
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
func (n *namer) call(x *edit.Node) {
	one := len(x.Args) == 1 && len(x.Keywords) == 0
	if x.X.Is(edit.Member, "dumps") && x.X.X.Is(edit.Name, "json") && one &&
		!n.Flow().Assigns("json") {
		n.asFilter("json.dumps", x, "tojson")
	}
	if name := x.X.Word; x.X.Is(edit.Name) && !n.Flow().Assigns(name) && !jinja.HasFunction(name) {
		if other, ok := functionAliases[name]; ok {
			n.mend(name, edit.Edit{From: x.X.Off, To: x.X.Off + len(name), Text: other})
		} else if other, ok := functionFilters[name]; ok && one {
			n.asFilter(name, x, other)
		}
	}
}

// asFilter writes a call with one argument as a filter of the argument.
func (n *namer) asFilter(name string, call *edit.Node, filter string) {
	arg := call.Args[0]
	open, end := "(", "|"+filter+")"
	if !arg.IsPrimary() && !arg.Is(edit.Filter) {
		open, end = "((", ")"+end
	}
	n.mend(name, edit.Edit{From: call.From, To: arg.From, Text: open},
		edit.Edit{From: arg.To, To: call.To, Text: end})
}
