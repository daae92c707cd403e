package syntax

import (
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/goassay/assay/engine/internal/bailout"
	"github.com/goassay/assay/engine/source"
)

// Parse reads a template. The error is a [source.Error] with a [Class] as its cause.
func Parse(src *source.Source) (*Template, error) { return read(src, nil) }

// read reads a template, and notes the spans where there is room for them.
func read(src *source.Source, spans *Spans) (t *Template, err error) {
	p := &parser{lexer: newLexer(src), spans: spans}
	defer bailout.Catch[*source.Error](&err)
	if len(src.Text) > MaxSource {
		p.fail(SyntaxError, 0, "the template has %d bytes, more than %d", len(src.Text), MaxSource)
	}
	if off := invalidUTF8(src.Text); off >= 0 {
		p.fail(SyntaxError, int32(off), "byte %#02x is not UTF-8; a "+
			"template is a text", src.Text[off])
	}
	p.advance()
	body := p.body(nil)
	return &Template{Source: src, Body: body}, nil
}

// invalidUTF8 returns the offset of the first byte that is not UTF-8, -1 where all are.
func invalidUTF8(s string) int {
	if utf8.ValidString(s) {
		return -1
	}
	for i, r := range s {
		if r == utf8.RuneError && !strings.HasPrefix(s[i:], "\uFFFD") {
			return i
		}
	}
	return -1
}

// parser is a recursive-descent parser. Each method leaves cur on the first token that it did not
// use.
type parser struct {
	*lexer
	cur       token
	ahead     token
	hasAhead  bool
	depth     int        // of statements and expressions around cur
	operators int        // so far in the tag
	tags      []string   // the open statements, innermost last
	ends      [][]string // the end tags that open statements wait for, innermost last

	spans *Spans   // nil: nobody asks
	begin int32    // where the tag that is read begins
	end   int32    // where the token before cur ends
	open  [][]Span // the tags of the open statements, innermost last
}

// advance returns the current token and goes on to the next.
func (p *parser) advance() token {
	t := p.cur
	p.end = t.end
	if p.hasAhead {
		p.cur, p.hasAhead = p.ahead, false
	} else {
		p.cur = p.lexer.next()
	}
	return t
}

// look returns the token after the current one.
func (p *parser) look() token {
	if !p.hasAhead {
		p.ahead, p.hasAhead = p.lexer.next(), true
	}
	return p.ahead
}

func (p *parser) skip(k kind) bool {
	if p.cur.kind != k {
		return false
	}
	p.advance()
	return true
}

func (p *parser) skipWord(word string) bool {
	if !p.cur.is(word) {
		return false
	}
	p.advance()
	return true
}

func (p *parser) expected(what string) {
	if p.cur.kind == tEOF {
		p.fail(SyntaxError, p.cur.off, "unexpected end of template, expected %s.", quote(what))
	}
	p.fail(SyntaxError, p.cur.off, "expected token %s, got %s", quote(what),
		quote(p.cur.describe()))
}

func (p *parser) expect(k kind) token {
	if p.cur.kind != k {
		p.expected(kindNames[k])
	}
	return p.advance()
}

func (p *parser) expectWord(word string) token {
	if !p.cur.is(word) {
		p.expected(word)
	}
	return p.advance()
}

// enter and leave keep the depth.
func (p *parser) enter() {
	if p.depth++; p.depth > MaxDepth {
		p.fail(SyntaxError, p.cur.off, "nested deeper than %d levels", MaxDepth)
	}
}

func (p *parser) leave() { p.depth-- }

// operator counts an operator.
func (p *parser) operator() {
	if p.operators++; p.operators > MaxOperators {
		p.fail(SyntaxError, p.cur.off, "more than %d operators in one tag", MaxOperators)
	}
}

// body reads statements up to an end tag, on whose word it stops, or to the end of the template
// where ends is nil.
func (p *parser) body(ends []string) []Stmt {
	var body []Stmt
	var parts []Expr
	flush := func() {
		if len(parts) > 0 {
			body = append(body, &Output{Pos(parts[0].Offset()), parts})
			parts = nil
		}
	}
	if ends != nil {
		p.ends = append(p.ends, ends)
		defer func() { p.ends = p.ends[:len(p.ends)-1] }()
	}
	for {
		p.operators = 0
		switch tok := p.cur; tok.kind {
		case tEOF:
			flush()
			if ends != nil {
				p.failEnd(tok, true)
			}
			return body
		case tData:
			p.advance()
			parts = append(parts, p.span(tok.off, &Const{Pos(tok.off), Data, tok.text}))
		case tVariableBegin:
			p.advance()
			x := p.tuple(tupleMode{})
			parts = append(parts, x)
			p.expect(tVariableEnd)
			p.printed(tok.off, x)
		default: // tBlockBegin
			flush()
			p.advance()
			p.begin = tok.off
			for _, end := range ends {
				if p.cur.is(end) {
					return body
				}
			}
			p.opens()
			s := p.statement()
			body = append(body, s)
			p.endTag()
			p.closes(s)
		}
	}
}

// statements reads the body of a statement from after its head, and stops on the word of the end
// tag.
func (p *parser) statements(ends ...string) []Stmt {
	p.skip(tColon) // as Python programmers write it
	p.endTag()
	return p.body(ends)
}

// closed is statements with one end tag, which it takes.
func (p *parser) closed(end string) []Stmt {
	body := p.statements(end)
	p.advance()
	return body
}

// failEnd reports an unknown tag, or the end of the template where a tag is still open.
func (p *parser) failEnd(tok token, eof bool) {
	msg := "Unexpected end of template."
	if !eof {
		msg = "Encountered unknown tag " + quote(tok.text) + "."
	}
	if n := len(p.ends); n > 0 {
		known := false
		for _, ends := range p.ends {
			for _, end := range ends {
				known = known || !eof && end == tok.text
			}
		}
		looking := make([]string, 0, 3)
		for _, end := range p.ends[n-1] {
			looking = append(looking, quote(end))
		}
		want := strings.Join(looking, " or ")
		if known {
			msg += " You probably made a nesting mistake. Jinja is expecting this tag, but " +
				"currently looking for " + want + "."
		} else {
			msg += " Jinja was looking for the following tags: " + want + "."
		}
	}
	if n := len(p.tags); n > 0 {
		msg += " The innermost block that needs to be closed is " + quote(p.tags[n-1]) + "."
	}
	p.fail(SyntaxError, tok.off, "%s", msg)
}

func (p *parser) statement() Stmt {
	tok := p.cur
	if tok.kind != tName {
		p.fail(SyntaxError, tok.off, "tag name expected")
	}
	p.enter()
	p.tags = append(p.tags, tok.text)
	p.advance()
	s := p.tagged(tok)
	p.tags = p.tags[:len(p.tags)-1]
	p.leave()
	return s
}

// tagged reads the statement of a tag from after its name.
func (p *parser) tagged(tok token) Stmt {
	pos := Pos(tok.off)
	switch tok.text {
	case "for":
		return p.forLoop(pos)
	case "if":
		return p.ifBranches(pos)
	case "set":
		return p.set(pos)
	case "print":
		return p.print(pos)
	case "macro":
		m := &Macro{Pos: pos, Name: p.nameTarget().Name}
		m.Params = p.params()
		m.Body = p.closed("endmacro")
		return m
	case "call":
		c := &CallBlock{Pos: pos}
		if p.cur.kind == tLParen {
			c.Params = p.params()
		}
		call, ok := p.expression().(*Call)
		if !ok {
			p.fail(SyntaxError, tok.off, "expected call")
		}
		c.Call = call
		c.Body = p.closed("endcall")
		return c
	case "filter":
		return &FilterBlock{pos, p.filters(nil, true), p.closed("endfilter")}
	case "with":
		return p.with(pos)
	case "autoescape":
		return &Autoescape{pos, p.expression(), p.closed("endautoescape")}
	case "generation":
		return &Generation{pos, p.closed("endgeneration")}
	case "break":
		return &Break{pos}
	case "continue":
		return &Continue{pos}
	case "block":
		return p.block(pos)
	case "extends":
		return &Extends{pos, p.expression()}
	case "include":
		n := &Include{Pos: pos, Template: p.expression()}
		if p.cur.is("ignore") && p.look().is("missing") {
			p.advance()
			p.advance()
			n.IgnoreMissing = true
		}
		n.WithContext = p.context(true)
		return n
	case "import":
		n := &Import{Pos: pos, Template: p.expression()}
		p.expectWord("as")
		n.Target = p.nameTarget().Name
		n.WithContext = p.context(false)
		return n
	case "from":
		return p.fromImport(pos)
	}
	p.tags = p.tags[:len(p.tags)-1]
	p.failEnd(tok, false)
	return nil
}

func (p *parser) forLoop(pos Pos) Stmt {
	f := &For{Pos: pos, Target: p.target(false)}
	p.expectWord("in")
	f.Iter = p.tuple(tupleMode{noCond: true})
	if p.skipWord("if") {
		f.Test = p.expression()
	}
	f.Recursive = p.skipWord("recursive")
	f.Body = p.statements("endfor", "else")
	if p.advance().is("else") {
		f.Else = p.closed("endfor")
	}
	return f
}

func (p *parser) ifBranches(pos Pos) Stmt {
	first := &If{Pos: pos}
	branch := first
	for {
		branch.Test = p.tuple(tupleMode{noCond: true})
		branch.Body = p.statements("elif", "else", "endif")
		switch tok := p.advance(); tok.text {
		case "elif":
			branch = &If{Pos: Pos(tok.off)}
			first.Elif = append(first.Elif, branch)
		case "else":
			first.Else = p.closed("endif")
			return first
		default:
			return first
		}
	}
}

func (p *parser) set(pos Pos) Stmt {
	target := p.target(true)
	if p.skip(tAssign) {
		return &Assign{pos, target, p.tuple(tupleMode{})}
	}
	return &AssignBlock{pos, target, p.filters(nil, false), p.closed("endset")}
}

func (p *parser) print(pos Pos) Stmt {
	o := &Output{Pos: pos}
	for p.cur.kind != tBlockEnd {
		if len(o.Parts) > 0 {
			p.expect(tComma)
		}
		o.Parts = append(o.Parts, p.expression())
	}
	return o
}

func (p *parser) with(pos Pos) Stmt {
	w := &With{Pos: pos}
	for p.cur.kind != tBlockEnd {
		if len(w.Targets) > 0 {
			p.expect(tComma)
		}
		w.Targets = append(w.Targets, p.target(false))
		p.expect(tAssign)
		w.Values = append(w.Values, p.expression())
	}
	w.Body = p.closed("endwith")
	return w
}

func (p *parser) block(pos Pos) Stmt {
	b := &Block{Pos: pos, Name: p.expect(tName).text}
	b.Scoped = p.skipWord("scoped")
	b.Required = p.skipWord("required")
	if p.cur.kind == tSub {
		p.fail(SyntaxError, p.cur.off, "Block names in Jinja have to be valid Python identifiers "+
			"and may not contain hyphens, use an underscore instead.")
	}
	b.Body = p.closed("endblock")
	if b.Required {
		for _, s := range b.Body {
			out, ok := s.(*Output)
			for i := 0; ok && i < len(out.Parts); i++ {
				c, isConst := out.Parts[i].(*Const)
				ok = isConst && c.Kind == Data && strings.TrimLeftFunc(c.Text, isSpace) == ""
			}
			if !ok {
				p.fail(SyntaxError, p.cur.off, "Required blocks can only "+
					"contain comments or whitespace")
			}
		}
	}
	p.skipWord(b.Name)
	return b
}

// context reads "with context" or "without context".
func (p *parser) context(otherwise bool) bool {
	if (p.cur.is("with") || p.cur.is("without")) && p.look().is("context") {
		with := p.advance().text == "with"
		p.advance()
		return with
	}
	return otherwise
}

func (p *parser) fromImport(pos Pos) Stmt {
	n := &FromImport{Pos: pos, Template: p.expression()}
	p.expectWord("import")
	for {
		if len(n.Names) > 0 {
			p.expect(tComma)
		}
		if (p.cur.is("with") || p.cur.is("without")) && p.look().is("context") {
			n.WithContext = p.context(false)
			return n
		}
		name := p.nameTarget()
		if strings.HasPrefix(name.Name, "_") {
			p.fail(AssertionError, int32(name.Pos), "names starting with an underline "+
				"can not be imported")
		}
		alias := Alias{name.Name, name.Name}
		if p.skipWord("as") {
			alias.As = p.nameTarget().Name
		}
		n.Names = append(n.Names, alias)
		if p.cur.kind != tComma {
			n.WithContext = p.context(false)
			return n
		}
	}
}

func (p *parser) params() Params {
	var ps Params
	p.expect(tLParen)
	for p.cur.kind != tRParen {
		if len(ps.Params) > 0 {
			p.expect(tComma)
		}
		param := p.nameTarget()
		for _, other := range ps.Params {
			if other.Name == param.Name {
				p.fail("SyntaxError", int32(param.Pos), "duplicate argument %s in function definition", quote(param.Name))
			}
		}
		if p.skip(tAssign) {
			ps.Defaults = append(ps.Defaults, p.expression())
		} else if ps.Defaults != nil {
			p.fail(SyntaxError, p.cur.off, "non-default argument follows default argument")
		}
		ps.Params = append(ps.Params, param)
	}
	p.advance()
	return ps
}

// nameTarget reads a name that is assigned to.
func (p *parser) nameTarget() *Name {
	tok := p.expect(tName)
	switch tok.text {
	case "true", "false", "none", "True", "False", "None":
		p.fail(SyntaxError, tok.off, "can't assign to 'name'")
	}
	name := &Name{Pos(tok.off), tok.text}
	p.span(tok.off, name)
	return name
}

// target reads the target of an assignment: a name, a tuple, or an attribute where attr is set.
func (p *parser) target(attr bool) Expr {
	if attr && p.look().kind == tDot {
		name := p.expect(tName)
		p.advance()
		attr := p.expect(tName)
		return p.span(name.off, &AttrTarget{Pos(name.off), name.text, attr.text})
	}
	target := p.tuple(tupleMode{primary: true})
	p.assignable(target, target)
	return target
}

func (p *parser) assignable(target, part Expr) {
	switch x := part.(type) {
	case *Name:
	case *Tuple:
		for _, item := range x.Items {
			p.assignable(target, item)
		}
	default:
		p.fail(SyntaxError, int32(target.Offset()), "can't assign to %s", quote(kindOf(target)))
	}
}

// kindOf names an expression as jinja2's messages do.
func kindOf(x Expr) string {
	switch x := x.(type) {
	case *Const:
		return "const"
	case *Tuple:
		return "tuple"
	case *List:
		return "list"
	case *Dict:
		return "dict"
	case *Unary:
		return map[string]string{"-": "neg", "+": "pos", "not": "not"}[x.Op]
	case *Attr:
		return "getattr"
	case *Item:
		return "getitem"
	case *Call:
		return "call"
	case *Filter:
		return "filter"
	case *Test:
		return "test"
	case *Compare:
		return "compare"
	case *Cond:
		return "condexpr"
	case *Concat:
		return "concat"
	}
	return "expression"
}

// tupleMode describes how tuple reads: primaries only, no inline if, in parentheses.
type tupleMode struct{ primary, noCond, parens bool }

// tuple reads an expression, or several with commas as a tuple.
func (p *parser) tuple(mode tupleMode) Expr {
	pos := Pos(p.cur.off)
	var first Expr
	var items []Expr
	for n := 0; ; n++ {
		if n > 0 {
			p.expect(tComma)
			if n == 1 {
				items = append(items, first)
			}
		}
		switch p.cur.kind {
		case tVariableEnd, tBlockEnd, tRParen:
			if n == 0 && !mode.parens {
				p.fail(SyntaxError, p.cur.off, "Expected an expression, got %s",
					quote(p.cur.describe()))
			}
			return p.span(int32(pos), &Tuple{pos, items})
		}
		var x Expr
		switch {
		case mode.primary:
			x = p.primary()
		case mode.noCond:
			x = p.or()
		default:
			x = p.expression()
		}
		if n == 0 {
			first = x
		} else {
			items = append(items, x)
		}
		if p.cur.kind != tComma {
			if n == 0 {
				return first
			}
			return p.span(int32(pos), &Tuple{pos, items})
		}
	}
}

func (p *parser) expression() Expr {
	x := p.or()
	for p.cur.is("if") {
		p.operator()
		pos := Pos(p.advance().off)
		c := &Cond{Pos: pos, Then: x, Test: p.or()}
		if p.skipWord("else") {
			p.enter()
			c.Else = p.expression()
			p.leave()
		}
		x = p.after(c.Then, c)
	}
	return x
}

func (p *parser) or() Expr  { return logic(p, "or", p.and) }
func (p *parser) and() Expr { return logic(p, "and", p.not) }

// logic reads operands with a word between them.
func logic(p *parser, word string, operand func() Expr) Expr {
	x := operand()
	for p.cur.is(word) {
		p.operator()
		pos := Pos(p.advance().off)
		x = p.after(x, &Logic{pos, word, x, operand()})
	}
	return x
}

func (p *parser) not() Expr {
	if !p.cur.is("not") {
		return p.compare()
	}
	p.enter()
	defer p.leave()
	pos := Pos(p.advance().off)
	return p.span(int32(pos), &Unary{pos, "not", p.not()})
}

func (p *parser) compare() Expr {
	x := p.sum()
	var ops []Operand
	pos := Pos(p.cur.off)
	for {
		op := ""
		switch p.cur.kind {
		case tEq, tNe, tLt, tLtEq, tGt, tGtEq:
			op = kindNames[p.cur.kind]
		case tName:
			if p.cur.text == "in" {
				op = "in"
			} else if p.cur.text == "not" && p.look().is("in") {
				op = "not in"
				p.advance()
			}
		}
		if op == "" {
			break
		}
		p.advance()
		ops = append(ops, Operand{op, p.sum()})
	}
	if ops == nil {
		return x
	}
	return p.after(x, &Compare{pos, x, ops})
}

func (p *parser) sum() Expr     { return binary(p, p.concat, tAdd, tSub) }
func (p *parser) product() Expr { return binary(p, p.power, tMul, tDiv, tFloorDiv, tMod) }

func (p *parser) power() Expr {
	return binary(p, func() Expr { return p.unary(true) }, tPow)
}

// binary reads operands with operators of some kinds between them.
func binary(p *parser, operand func() Expr, kinds ...kind) Expr {
	x := operand()
	for slices.Contains(kinds, p.cur.kind) {
		p.operator()
		op := p.advance()
		x = p.after(x, &Binary{Pos(op.off), kindNames[op.kind], x, operand()})
	}
	return x
}

func (p *parser) concat() Expr {
	x := p.product()
	if p.cur.kind != tTilde {
		return x
	}
	c := &Concat{Pos(p.cur.off), []Expr{x}}
	for p.skip(tTilde) {
		c.Items = append(c.Items, p.product())
	}
	return p.after(x, c)
}

func (p *parser) unary(filters bool) Expr {
	var x Expr
	if k := p.cur.kind; k == tSub || k == tAdd {
		p.enter()
		op := p.advance()
		x = p.span(op.off, &Unary{Pos(op.off), kindNames[op.kind], p.unary(false)})
		p.leave()
	} else {
		x = p.primary()
	}
	x = p.postfix(x)
	if filters {
		x = p.filtered(x)
	}
	return x
}

// primary reads a name, a literal, or brackets.
func (p *parser) primary() Expr {
	from := p.cur.off
	return p.span(from, p.atom())
}

func (p *parser) atom() Expr {
	tok := p.cur
	pos := Pos(tok.off)
	switch tok.kind {
	case tName:
		p.advance()
		switch tok.text {
		case "true", "True":
			return &Const{pos, True, ""}
		case "false", "False":
			return &Const{pos, False, ""}
		case "none", "None":
			return &Const{pos, None, ""}
		}
		return &Name{pos, tok.text}
	case tString:
		p.advance()
		text := tok.text
		if p.cur.kind == tString {
			var b strings.Builder
			b.WriteString(text)
			for p.cur.kind == tString {
				b.WriteString(p.advance().text)
			}
			text = b.String()
		}
		return &Const{pos, String, text}
	case tInteger:
		p.advance()
		return &Const{pos, Int, tok.text}
	case tFloat:
		p.advance()
		return &Const{pos, Float, tok.text}
	case tLParen:
		p.enter()
		defer p.leave()
		p.advance()
		x := p.tuple(tupleMode{parens: true})
		p.expect(tRParen)
		return x
	case tLBracket:
		p.enter()
		defer p.leave()
		p.advance()
		list := &List{Pos: pos}
		for p.cur.kind != tRBracket {
			if len(list.Items) > 0 {
				p.expect(tComma)
				if p.cur.kind == tRBracket {
					break
				}
			}
			list.Items = append(list.Items, p.expression())
		}
		p.advance()
		return list
	case tLBrace:
		p.enter()
		defer p.leave()
		p.advance()
		dict := &Dict{Pos: pos}
		for p.cur.kind != tRBrace {
			if len(dict.Items) > 0 {
				p.expect(tComma)
				if p.cur.kind == tRBrace {
					break
				}
			}
			key := p.expression()
			p.expect(tColon)
			dict.Items = append(dict.Items, Pair{key, p.expression()})
		}
		p.advance()
		return dict
	}
	if tok.kind == tEOF {
		p.fail(SyntaxError, tok.off, "unexpected end of template, expected an expression")
	}
	p.fail(SyntaxError, tok.off, "unexpected %s", quote(tok.describe()))
	return nil
}

func (p *parser) postfix(x Expr) Expr {
	for {
		switch p.cur.kind {
		case tDot, tLBracket:
			x = p.subscript(x)
		case tLParen:
			x = p.call(x)
		default:
			return x
		}
	}
}

// filtered reads filters, tests and calls of their results.
func (p *parser) filtered(x Expr) Expr {
	for {
		switch {
		case p.cur.kind == tPipe:
			x = p.filters(x, false)
		case p.cur.is("is"):
			x = p.test(x)
		case p.cur.kind == tLParen:
			x = p.call(x)
		default:
			return x
		}
	}
}

func (p *parser) subscript(x Expr) Expr {
	p.operator()
	tok := p.advance()
	pos := Pos(tok.off)
	if tok.kind == tDot {
		switch name := p.advance(); name.kind {
		case tName:
			return p.after(x, &Attr{pos, x, name.text})
		case tInteger:
			index := p.span(name.off, &Const{Pos(name.off), Int, name.text})
			return p.after(x, &Item{pos, x, index})
		default:
			p.fail(SyntaxError, name.off, "expected name or number")
		}
	}
	p.enter()
	defer p.leave()
	var args []Expr
	for p.cur.kind != tRBracket {
		if len(args) > 0 {
			p.expect(tComma)
		}
		args = append(args, p.index())
	}
	p.advance()
	if len(args) == 1 {
		return p.after(x, &Item{pos, x, args[0]})
	}
	return p.after(x, &Item{pos, x, p.span(int32(pos), &Tuple{pos, args})})
}

// index reads one index or slice.
func (p *parser) index() Expr {
	s := &Slice{Pos: Pos(p.cur.off)}
	if p.cur.kind != tColon {
		s.Start = p.expression()
		if p.cur.kind != tColon {
			return s.Start
		}
	}
	p.advance()
	part := func() Expr {
		if p.cur.kind == tRBracket || p.cur.kind == tComma || p.cur.kind == tColon {
			return nil
		}
		return p.expression()
	}
	s.Stop = part()
	if p.skip(tColon) {
		if p.cur.kind == tColon {
			p.fail(SyntaxError, p.cur.off, "unexpected ':'")
		}
		s.Step = part()
	}
	return p.span(int32(s.Pos), s)
}

func (p *parser) args() Args {
	p.enter()
	defer p.leave()
	var a Args
	open := p.expect(tLParen)
	ensure := func(ok bool) {
		if !ok {
			p.fail(SyntaxError, open.off, "invalid syntax for function call expression")
		}
	}
	for first := true; p.cur.kind != tRParen; first = false {
		if !first {
			p.expect(tComma)
			if p.cur.kind == tRParen {
				break
			}
		}
		switch {
		case p.cur.kind == tMul:
			ensure(a.Star == nil && a.StarStar == nil)
			p.advance()
			a.Star = p.expression()
		case p.cur.kind == tPow:
			ensure(a.StarStar == nil)
			p.advance()
			a.StarStar = p.expression()
		case p.cur.kind == tName && p.look().kind == tAssign:
			ensure(a.StarStar == nil)
			key := p.advance()
			p.advance()
			for _, k := range a.Keywords {
				if k.Name == key.text {
					p.fail("SyntaxError", key.off, "keyword argument repeated: %s", key.text)
				}
			}
			a.Keywords = append(a.Keywords, Keyword{Pos(key.off), key.text, p.expression()})
		default:
			ensure(a.Star == nil && a.StarStar == nil && len(a.Keywords) == 0)
			a.Args = append(a.Args, p.expression())
		}
	}
	p.advance()
	return a
}

func (p *parser) call(x Expr) Expr {
	p.operator()
	pos := Pos(p.cur.off)
	return p.after(x, &Call{pos, x, p.args()})
}

// dotted reads the name of a filter or test.
func (p *parser) dotted() token {
	tok := p.expect(tName)
	for p.skip(tDot) {
		tok.text += "." + p.expect(tName).text
	}
	return tok
}

// filters reads a chain of filters; inline, the first comes without a bar. It returns nil where
// there is none.
func (p *parser) filters(x Expr, inline bool) *Filter {
	var f *Filter
	for inline || p.cur.kind == tPipe {
		if !inline {
			p.advance()
		}
		inline = false
		p.operator()
		name := p.dotted()
		f = &Filter{Pos: Pos(name.off), X: x, Name: name.text}
		if p.cur.kind == tLParen {
			f.Args = p.args()
		}
		p.after(x, f)
		x = f
	}
	return f
}

func (p *parser) test(x Expr) Expr {
	p.operator()
	is := p.advance()
	pos := Pos(is.off)
	negated := p.skipWord("not")
	t := &Test{Pos: pos, X: x, Name: p.dotted().text}
	switch p.cur.kind {
	case tLParen:
		t.Args = p.args()
	case tName, tString, tInteger, tFloat, tLBracket, tLBrace:
		if p.cur.is("else") || p.cur.is("or") || p.cur.is("and") {
			break
		}
		if p.cur.is("is") {
			p.fail(SyntaxError, p.cur.off, "You cannot chain multiple tests with is")
		}
		t.Args.Args = []Expr{p.postfix(p.primary())}
	}
	p.after(t.X, t)
	if negated {
		return p.after(t, &Unary{pos, "not", t})
	}
	return t
}
