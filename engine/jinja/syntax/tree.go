package syntax

import "github.com/goassay/assay/engine/source"

// Pos is a byte offset into the source as given; every node has one: that of the name, literal,
// bracket or operator that the node stands for.
type Pos int32

// Offset returns the position as an int.
func (p Pos) Offset() int { return int(p) }

// Node is a part of a tree.
type Node interface{ Offset() int }

// Expr is an expression: one of *Name, *Const, *Tuple, *List, *Dict, *Unary, *Binary, *Logic,
// *Concat, *Compare, *Cond, *Attr, *Item, *Slice, *Call, *Filter, *Test.
type Expr interface {
	Node
	expr()
}

// Stmt is a statement: one of *Output, *If, *For, *Macro, *CallBlock, *FilterBlock, *With, *Assign,
// *AssignBlock, *Block, *Extends, *Include, *Import, *FromImport, *Autoescape, *Generation, *Break,
// *Continue.
type Stmt interface {
	Node
	stmt()
}

// Template is the tree of a whole template.
type Template struct {
	Source *source.Source
	Body   []Stmt
}

// ConstKind is the type of a literal.
type ConstKind uint8

// The types of literals.
const (
	None ConstKind = iota
	True
	False
	Int
	Float
	String
	Data // the template's own text, in an Output only
)

// Expressions.
type (
	// Name is a variable.
	Name struct {
		Pos
		Name string
	}
	// Const is a literal. Text is a string's or data's content, an integer's digits with the prefix
	// 0x, 0o or 0b where there is one, or a float's text.
	Const struct {
		Pos
		Kind ConstKind
		Text string
	}
	// Tuple is (a, b), also as the target of an assignment.
	Tuple struct {
		Pos
		Items []Expr
	}
	// List is [a, b].
	List struct {
		Pos
		Items []Expr
	}
	// Dict is {k: v}.
	Dict struct {
		Pos
		Items []Pair
	}
	// Pair is one entry of a Dict.
	Pair struct{ Key, Value Expr }
	// Unary is "-x", "+x" or "not x".
	Unary struct {
		Pos
		Op string
		X  Expr
	}
	// Binary is arithmetic: + - * / // % **.
	Binary struct {
		Pos
		Op   string
		X, Y Expr
	}
	// Logic is "x and y" or "x or y".
	Logic struct {
		Pos
		Op   string
		X, Y Expr
	}
	// Concat is a ~ b ~ c.
	Concat struct {
		Pos
		Items []Expr
	}
	// Compare is a chain of comparisons: == != < <= > >= "in" "not in".
	Compare struct {
		Pos
		X   Expr
		Ops []Operand
	}
	// Operand is one link of a Compare.
	Operand struct {
		Op string
		X  Expr
	}
	// Cond is "x if test else y"; Else may be nil.
	Cond struct {
		Pos
		Test, Then, Else Expr
	}
	// Attr is x.name.
	Attr struct {
		Pos
		X    Expr
		Name string
	}
	// Item is x[index]; the index may be a *Slice, or a *Tuple that holds slices.
	Item struct {
		Pos
		X, Index Expr
	}
	// Slice is start:stop:step; each may be nil.
	Slice struct {
		Pos
		Start, Stop, Step Expr
	}
	// Args are the arguments of a call, filter or test. Star and StarStar may be nil.
	Args struct {
		Args           []Expr
		Keywords       []Keyword
		Star, StarStar Expr
	}
	// Keyword is an argument by name.
	Keyword struct {
		Pos
		Name  string
		Value Expr
	}
	// Call is f(args).
	Call struct {
		Pos
		Func Expr
		Args
	}
	// Filter is x|name(args). X is nil where the filter applies to the body of a block.
	Filter struct {
		Pos
		X    Expr
		Name string
		Args
	}
	// Test is "x is name(args)". A negated test is a *Unary around one.
	Test struct {
		Pos
		X    Expr
		Name string
		Args
	}
	// AttrTarget is the target of {% set name.attr = ... %}.
	AttrTarget struct {
		Pos
		Name, Attr string
	}
)

// Statements.
type (
	// Output writes its parts, the template's text among them.
	Output struct {
		Pos
		Parts []Expr
	}
	// If is one branch with the others after it.
	If struct {
		Pos
		Test Expr
		Body []Stmt
		Elif []*If // each without Elif and Else of its own
		Else []Stmt
	}
	// For is a loop. Test may be nil.
	For struct {
		Pos
		Target    Expr // *Name or *Tuple
		Iter      Expr
		Test      Expr
		Recursive bool
		Body      []Stmt
		Else      []Stmt
	}
	// Params are the parameters of a macro or call block. Defaults belong to the last ones.
	Params struct {
		Params   []*Name
		Defaults []Expr
	}
	// Macro defines a macro.
	Macro struct {
		Pos
		Name string
		Params
		Body []Stmt
	}
	// CallBlock calls a macro with its body as "caller".
	CallBlock struct {
		Pos
		Params
		Call *Call
		Body []Stmt
	}
	// FilterBlock writes its body through filters.
	FilterBlock struct {
		Pos
		Filter *Filter
		Body   []Stmt
	}
	// With opens a scope with variables.
	With struct {
		Pos
		Targets []Expr
		Values  []Expr
		Body    []Stmt
	}
	// Assign is {% set target = value %}. Target is a *Name, *Tuple or *AttrTarget.
	Assign struct {
		Pos
		Target Expr
		Value  Expr
	}
	// AssignBlock is {% set target %}...{% endset %}. Filter may be nil.
	AssignBlock struct {
		Pos
		Target Expr
		Filter *Filter
		Body   []Stmt
	}
	// Block is a named block.
	Block struct {
		Pos
		Name             string
		Scoped, Required bool
		Body             []Stmt
	}
	// Extends names a parent template.
	Extends struct {
		Pos
		Template Expr
	}
	// Include renders another template.
	Include struct {
		Pos
		Template      Expr
		IgnoreMissing bool
		WithContext   bool
	}
	// Import binds another template's macros to a name.
	Import struct {
		Pos
		Template    Expr
		Target      string
		WithContext bool
	}
	// FromImport binds some of another template's macros.
	FromImport struct {
		Pos
		Template    Expr
		Names       []Alias
		WithContext bool
	}
	// Alias is "name as as"; As is Name where there is no alias.
	Alias struct{ Name, As string }
	// Autoescape sets whether output is escaped.
	Autoescape struct {
		Pos
		On   Expr
		Body []Stmt
	}
	// Generation marks the model's text; it renders its body.
	Generation struct {
		Pos
		Body []Stmt
	}
	// Break leaves a loop.
	Break struct{ Pos }
	// Continue goes on to the next iteration.
	Continue struct{ Pos }
)

func (*Name) expr()       {}
func (*Const) expr()      {}
func (*Tuple) expr()      {}
func (*List) expr()       {}
func (*Dict) expr()       {}
func (*Unary) expr()      {}
func (*Binary) expr()     {}
func (*Logic) expr()      {}
func (*Concat) expr()     {}
func (*Compare) expr()    {}
func (*Cond) expr()       {}
func (*Attr) expr()       {}
func (*Item) expr()       {}
func (*Slice) expr()      {}
func (*Call) expr()       {}
func (*Filter) expr()     {}
func (*Test) expr()       {}
func (*AttrTarget) expr() {}

func (*Output) stmt()      {}
func (*If) stmt()          {}
func (*For) stmt()         {}
func (*Macro) stmt()       {}
func (*CallBlock) stmt()   {}
func (*FilterBlock) stmt() {}
func (*With) stmt()        {}
func (*Assign) stmt()      {}
func (*AssignBlock) stmt() {}
func (*Block) stmt()       {}
func (*Extends) stmt()     {}
func (*Include) stmt()     {}
func (*Import) stmt()      {}
func (*FromImport) stmt()  {}
func (*Autoescape) stmt()  {}
func (*Generation) stmt()  {}
func (*Break) stmt()       {}
func (*Continue) stmt()    {}
