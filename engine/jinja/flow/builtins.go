package flow

import "strings"

// Kinds is a set of kinds of values; each kind is true or false as a condition.
type Kinds uint16

// The kinds.
const (
	Undef     Kinds = 1 << iota
	Null            // none
	Yes             // true
	No              // false
	Zero            // 0 and 0.0
	Number          // any other number
	Blank           // the empty text
	Text            // any other text
	NoItems         // an empty list
	Items           // a list
	NoMembers       // an empty object
	Members         // an object
	Object          // a macro, a namespace, ...
)

// Kinds that go together.
const (
	Everything = Undef | Null | Yes | No | Zero | Number | Blank | Text | NoItems | Items |
		NoMembers | Members | Object
	Falsy   = Undef | Null | No | Zero | Blank | NoItems | NoMembers
	Truthy  = Everything &^ Falsy
	Strings = Blank | Text
	Bools   = Yes | No
	Numbers = Zero | Number
	Lists   = NoItems | Items
	Dicts   = NoMembers | Members
	Many    = Text | Items | Members | Object // a loop can go through these
)

// Flow says which parts of its operand a built-in may return, as far as text goes.
type Flow uint8

// The flows.
const (
	OfWhole  Flow = iota // something made of all of it
	OfItems              // items as they are, or it itself
	OfMember             // a member, which an argument names
	OfNone               // nothing
)

// Builtin says of a filter, a method or a function of the language what it returns. Kinds are never
// too few.
type Builtin struct {
	Result Kinds
	On     Kinds // of a method: the values that have it
	Flow   Flow
	Args   int  // the first argument that may be in the result, from 1 on; 0: none
	Varies bool // it may return something else of the same values
	// Rearranges: the result has nothing in it but parts of the operand.
	Rearranges bool
	Changes    bool // of a method: it changes its list or object
	Puts       bool // of a method: it puts its arguments into it
}

// Test says of a test for which kinds of values it holds.
type Test struct {
	Surely, Maybe Kinds
	Means         Kinds // the kind that an author has in mind who asks
}

// row is a line of a table of built-ins: those that are alike.
type row struct {
	names string
	Builtin
}

func table(rows ...row) map[string]Builtin {
	all := map[string]Builtin{}
	for _, r := range rows {
		for _, name := range strings.Fields(r.names) {
			all[name] = r.Builtin
		}
	}
	return all
}

// Filters are the filters of the language.
var Filters = table(
	row{"trim lower upper string", Builtin{Result: Strings, Rearranges: true}},
	row{"title capitalize escape e forceescape safe center wordwrap striptags urlencode urlize " +
		"pprint filesizeformat xmlattr", Builtin{Result: Strings}},
	row{"join format", Builtin{Result: Strings, Args: 1}},
	row{"replace indent truncate", Builtin{Result: Strings, Args: 2}},
	row{"tojson", Builtin{Result: Text, Rearranges: true}},
	row{"length count int float round abs wordcount", Builtin{Result: Numbers, Flow: OfNone}},
	row{"sum min max", Builtin{Result: Everything}},
	row{"list sort", Builtin{Result: Lists, Flow: OfItems, Rearranges: true}},
	row{"dictsort", Builtin{Result: Lists, Rearranges: true}},
	row{"groupby", Builtin{Result: Lists}},
	row{"items", Builtin{Result: Object, Rearranges: true}},
	row{"select reject selectattr rejectattr", Builtin{Result: Object, Flow: OfItems}},
	row{"unique", Builtin{Result: Object, Flow: OfItems, Rearranges: true}},
	row{"batch slice", Builtin{Result: Object, Flow: OfItems, Args: 2}},
	row{"map", Builtin{Result: Object, Flow: OfMember, Args: 2}},
	row{"attr", Builtin{Result: Everything, Flow: OfMember}},
	row{"first last", Builtin{Result: Everything, Flow: OfItems}},
	row{"random", Builtin{Result: Everything, Varies: true}},
	row{"reverse", Builtin{Result: Everything, Flow: OfItems, Rearranges: true}},
	row{"default d", Builtin{Result: Everything, Flow: OfItems, Args: 1}},
)

// Methods are the methods of values that a request may have in it, or a template may make.
var Methods = table(
	row{"startswith endswith isdigit isalpha isspace isupper islower isalnum isnumeric isascii " +
		"isdecimal isidentifier isprintable istitle",
		Builtin{Result: Bools, On: Strings, Flow: OfNone}},
	row{"strip lstrip rstrip lower upper title capitalize casefold swapcase removeprefix " +
		"removesuffix center ljust rjust zfill expandtabs", Builtin{Result: Strings, On: Strings}},
	row{"replace", Builtin{Result: Strings, On: Strings, Args: 2}},
	row{"format join format_map", Builtin{Result: Strings, On: Strings, Args: 1}},
	row{"split rsplit splitlines", Builtin{Result: Lists, On: Strings}},
	row{"partition rpartition", Builtin{Result: Items, On: Strings}},
	row{"translate maketrans encode", Builtin{Result: Everything, On: Strings}},
	row{"find rfind rindex", Builtin{Result: Numbers, On: Strings, Flow: OfNone}},
	row{"index count", Builtin{Result: Numbers, On: Strings | Lists, Flow: OfNone}},
	row{"get", Builtin{Result: Everything, On: Dicts, Flow: OfMember, Args: 2}},
	row{"items keys values", Builtin{Result: Everything, On: Dicts}},
	row{"copy", Builtin{Result: Everything, On: Lists | Dicts}},
	row{"fromkeys", Builtin{Result: Everything, On: Dicts}},
	row{"pop", Builtin{Result: Everything, On: Lists | Dicts, Flow: OfMember, Args: 2,
		Changes: true}},
	row{"setdefault", Builtin{Result: Everything, On: Dicts, Flow: OfMember, Args: 2,
		Changes: true, Puts: true}},
	row{"append extend insert", Builtin{Result: Null, On: Lists, Changes: true, Puts: true}},
	row{"update", Builtin{Result: Null, On: Dicts, Changes: true, Puts: true}},
	row{"remove sort reverse", Builtin{Result: Null, On: Lists, Changes: true}},
	row{"clear", Builtin{Result: Null, On: Lists | Dicts, Changes: true}},
	row{"popitem", Builtin{Result: Everything, On: Dicts, Changes: true}},
	row{"cycle", Builtin{Result: Everything, On: Object, Args: 1, Varies: true}},
	row{"as_integer_ratio bit_count bit_length conjugate denominator hex imag is_integer " +
		"numerator real to_bytes from_bytes fromhex", Builtin{Result: Everything,
		On: Numbers | Bools}},
)

// Functions are the functions of the language and those that engines give a template.
var Functions = table(
	row{"raise_exception", Builtin{Flow: OfNone}}, // it returns nothing
	row{"strftime_now", Builtin{Result: Strings, Flow: OfNone, Varies: true}},
	row{"namespace dict cycler joiner", Builtin{Result: Object | Dicts, Args: 1}},
	row{"range", Builtin{Result: Object, Args: 1}},
	row{"lipsum", Builtin{Result: Strings, Varies: true}},
)

// Tests are the tests of the language.
var Tests = func() map[string]Test {
	numbers := Test{Maybe: Numbers, Means: Number}
	any := Test{Maybe: Everything}
	all := map[string]Test{
		"defined": {Surely: Everything &^ Undef}, "undefined": {Surely: Undef},
		"none": {Surely: Null, Means: Null}, "true": {Surely: Yes, Means: Bools},
		"false": {Surely: No, Means: Bools}, "boolean": {Surely: Bools, Means: Bools},
		"string":  {Surely: Strings, Means: Text},
		"number":  {Surely: Numbers | Bools, Means: Number},
		"integer": numbers, "float": numbers,
		"mapping":  {Surely: Dicts, Maybe: Object, Means: Members},
		"sequence": {Surely: Strings | Lists | Dicts, Maybe: Object | Undef, Means: Items},
		"iterable": {Surely: Strings | Lists | Dicts, Maybe: Object | Undef, Means: Items},
	}
	for _, name := range strings.Fields("callable divisibleby escaped even odd filter test in " +
		"lower upper sameas eq equalto == ne != gt greaterthan > ge >= lt lessthan < le <=") {
		all[name] = any
	}
	return all
}()

// IsAttribute reports whether values of Python have an attribute of that name without an
// underscore, which a template finds before a member of that name.
func IsAttribute(name string) bool {
	m, ok := Methods[name]
	return ok && m.On&^Object != 0
}
