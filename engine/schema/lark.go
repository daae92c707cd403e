package schema

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

// ParseLark reads a grammar in Lark's syntax, as clients give it for the input of a custom tool, as
// the pattern of a text. Rules may name themselves, within others and at their own beginning, where
// a rule such as "sum: sum PLUS term | term" is read as a repetition. Lark reads a text by tokens,
// each as long as possible; the pattern does not, and lets through a text that this splits
// otherwise.
//
// Understood are rules and terminals with their aliases and priorities, texts, ranges and regular
// expressions, groups and repetitions, and imports of Lark's common terminals. The specification is
// Lark's grammar reference (lark-parser.readthedocs.io, version 1.2).
func ParseLark(grammar string) (*Pattern, error) {
	if len(grammar) > maxLark {
		return nil, fmt.Errorf("it has more than %d bytes", maxLark)
	}
	g := &larkGrammar{rules: map[string]larkRule{}, made: map[string]*Node{}}
	if err := g.read(grammar); err != nil {
		return nil, err
	}
	if _, ok := g.rules["start"]; !ok {
		return nil, errors.New("it has no rule start")
	}
	root, err := g.rule("start")
	if err == nil {
		err = g.check()
	}
	return &Pattern{Text: "a grammar in Lark's syntax", Root: root}, err
}

// LarkKeyword is the keyword of a string whose texts are those of a grammar ([ParseLark]): no other
// keyword of JSON Schema can say what is recursive.
const LarkKeyword = "x-lark"

const (
	maxLark = 64 << 10 // bounds a grammar, in bytes
	// maxLarkDepth bounds groups and rules within each other.
	maxLarkDepth = 200
)

// larkGrammar is a grammar whose rules are read. A rule's text is parsed when it is first named.
type larkGrammar struct {
	rules map[string]larkRule
	made  map[string]*Node // the rules that were named; without Subs while they are parsed
	depth int              // of groups and rules that are being read
}

type larkRule struct {
	text string // after the colon
	line int    // 1-based
}

// larkHead is the beginning of a definition: marks that shape a tree, the name and the priority.
var larkHead = regexp.MustCompile(`^[!?]*(_*[A-Za-z][A-Za-z0-9_]*)(?:\.-?[0-9]+)?[ \t]*:`)

// larkImport is an import of common terminals.
var larkImport = regexp.MustCompile(`^%import[ \t]+common(?:\.([A-Z_]+)(?:[ \t]*->[ \t]*(\w+))?|` +
	`[ \t]*\(([A-Z_, \t]+)\))$`)

func (g *larkGrammar) read(grammar string) error {
	name := ""
	number := 0
	for line := range strings.Lines(grammar) {
		number++
		line = strings.TrimSpace(line)
		head := larkHead.FindStringSubmatch(line)
		switch {
		case line == "", strings.HasPrefix(line, "//"), strings.HasPrefix(line, "#"):
			if name != "" { // the lines of a rule are counted
				g.add(name, "")
			}
		case strings.HasPrefix(line, "%"):
			m := larkImport.FindStringSubmatch(line)
			if m == nil {
				return fmt.Errorf("line %d: %q is not supported; expected an import of common "+
					"terminals", number, line)
			}
			name = ""
			for from := range strings.SplitSeq(m[1]+m[3], ",") {
				from = strings.TrimSpace(from)
				text, ok := larkCommon[from]
				if !ok {
					return fmt.Errorf("line %d: there is no common terminal %q", number, from)
				}
				to := from
				if m[2] != "" {
					to = m[2]
				}
				g.rules[to] = larkRule{"/" + strings.ReplaceAll(text, "/", `\/`) + "/", number}
			}
		case head != nil:
			name = head[1]
			if old, ok := g.rules[name]; ok {
				return fmt.Errorf("line %d: %s is defined in line %d already", number, name, old.line)
			}
			g.rules[name] = larkRule{line[len(head[0]):], number}
		case name != "": // a definition goes on
			g.add(name, line)
		default:
			return fmt.Errorf("line %d: expected a definition, found %q", number, line)
		}
	}
	return nil
}

// add adds a line to a rule.
func (g *larkGrammar) add(name, line string) {
	r := g.rules[name]
	r.text += "\n" + line
	g.rules[name] = r
}

// larkCommon are the terminals of Lark's library as regular expressions.
var larkCommon = map[string]string{
	"DIGIT": `[0-9]`, "HEXDIGIT": `[0-9a-fA-F]`, "INT": `[0-9]+`, "SIGNED_INT": `[+-]?[0-9]+`,
	"DECIMAL":        `(?:[0-9]+\.[0-9]*|\.[0-9]+)`,
	"FLOAT":          larkFloat,
	"SIGNED_FLOAT":   `[+-]?` + larkFloat,
	"NUMBER":         `(?:` + larkFloat + `|[0-9]+)`,
	"SIGNED_NUMBER":  `[+-]?(?:` + larkFloat + `|[0-9]+)`,
	"ESCAPED_STRING": `"(?:[^"\\\n]|\\.)*"`,
	"LCASE_LETTER":   `[a-z]`, "UCASE_LETTER": `[A-Z]`, "LETTER": `[A-Za-z]`, "WORD": `[A-Za-z]+`,
	"CNAME":     `[_A-Za-z][_A-Za-z0-9]*`,
	"WS_INLINE": `[ \t]+`, "WS": `[ \t\f\r\n]+`, "CR": `\r`, "LF": `\n`, "NEWLINE": `(?:\r?\n)+`,
	"SH_COMMENT": `#[^\n]*`, "CPP_COMMENT": `//[^\n]*`, "SQL_COMMENT": `--[^\n]*`,
}

const larkFloat = `(?:[0-9]+[eE][+-]?[0-9]+|(?:[0-9]+\.[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?)`

// rule returns the node of a rule.
func (g *larkGrammar) rule(name string) (*Node, error) {
	if n := g.made[name]; n != nil {
		n.Recursive = n.Recursive || n.Subs == nil
		return n, nil
	}
	r, ok := g.rules[name]
	if !ok {
		return nil, fmt.Errorf("%s is not defined", name)
	}
	n := &Node{Op: OpRule, Name: name}
	g.made[name] = n
	p := &larkParser{g: g, rest: r.text}
	choices, err := p.alternatives("")
	if err != nil {
		if !p.inner {
			err = fmt.Errorf("line %d: %w", r.line+strings.Count(r.text, "\n")-
				strings.Count(p.rest, "\n"), err)
		}
		return nil, err
	}
	n.Subs = []*Node{repeating(n, choices)}
	return n, nil
}

// repeating returns the choices of a rule, of which some begin with the rule itself, as the others
// and a repetition of what follows the rule: the texts are the same.
func repeating(rule *Node, choices []*Node) *Node {
	var first, next []*Node
	for _, c := range choices {
		switch {
		case c == rule:
		case c.Op == OpSeq && len(c.Subs) > 0 && c.Subs[0] == rule:
			next = append(next, seq(c.Subs[1:]))
		default:
			first = append(first, c)
		}
	}
	if len(next) == 0 {
		return alt(first)
	}
	return seq([]*Node{alt(first), {Op: OpRepeat, Subs: []*Node{alt(next)}, Max: -1}})
}

// check refuses a rule without an end, and one that comes back to itself before a character is
// read: no engine of grammars takes them.
func (g *larkGrammar) check() error {
	ends := map[*Node]bool{}
	for changed := true; changed; {
		changed = false
		for _, n := range g.made {
			if !ends[n] && n.Subs[0].ends(ends) {
				ends[n], changed = true, true
			}
		}
	}
	open := map[*Node]bool{}
	empty := map[*Node]bool{} // of rules: whether the empty text is one of theirs
	for _, name := range slices.Sorted(maps.Keys(g.made)) {
		line := g.rules[name].line
		if n := g.made[name]; !ends[n] {
			return fmt.Errorf("line %d: %s has no end: each of its choices names a rule again", line,
				name)
		} else if _, ok := n.beginning(open, empty); !ok {
			return fmt.Errorf("line %d: %s comes back to itself before a character is read, by "+
				"another rule or past an empty text; write it as a repetition", line, name)
		}
	}
	return nil
}

// ends reports whether a node has a finite text, where some rules are known to have one.
func (n *Node) ends(known map[*Node]bool) bool {
	one := func(sub *Node) bool { return sub.ends(known) }
	switch n.Op {
	case OpRule:
		return known[n]
	case OpAlt:
		return slices.ContainsFunc(n.Subs, one)
	case OpRepeat:
		return n.Min == 0 || one(n.Subs[0])
	}
	return !slices.ContainsFunc(n.Subs, func(sub *Node) bool { return !one(sub) })
}

// beginning looks at all that a text of a node may begin with. It reports whether that may be
// nothing, and false where a rule is there that is open.
func (n *Node) beginning(open, known map[*Node]bool) (empty, ok bool) {
	switch n.Op {
	case OpClass:
		return false, true
	case OpRepeat:
		empty, ok = n.Subs[0].beginning(open, known)
		return empty || n.Min == 0, ok
	case OpSeq:
		for _, sub := range n.Subs {
			if empty, ok = sub.beginning(open, known); !empty || !ok {
				return false, ok
			}
		}
		return true, true
	case OpAlt:
		for _, sub := range n.Subs {
			one, ok := sub.beginning(open, known)
			if !ok {
				return false, false
			}
			empty = empty || one
		}
		return empty, true
	}
	if empty, done := known[n]; done || open[n] {
		return empty, done
	}
	open[n] = true
	if empty, ok = n.Subs[0].beginning(open, known); ok {
		known[n] = empty
	}
	return empty, ok
}

// larkParser reads the right side of a definition.
type larkParser struct {
	g     *larkGrammar
	rest  string
	inner bool // the error is one of another rule, and has its line
}

func (p *larkParser) skip() {
	for {
		p.rest = strings.TrimLeft(p.rest, " \t\n")
		if !strings.HasPrefix(p.rest, "//") {
			return
		}
		_, p.rest, _ = strings.Cut(p.rest, "\n")
	}
}

// took consumes a text that comes next.
func (p *larkParser) took(text string) bool {
	p.skip()
	rest, ok := strings.CutPrefix(p.rest, text)
	if ok {
		p.rest = rest
	}
	return ok
}

// alternatives reads up to an end: a bracket, or "" for that of the text.
func (p *larkParser) alternatives(end string) (choices []*Node, err error) {
	if p.g.depth++; p.g.depth > maxLarkDepth {
		return nil, fmt.Errorf("more than %d groups and rules stand within each other", maxLarkDepth)
	}
	defer func() { p.g.depth-- }()
	var parts []*Node
	for {
		p.skip()
		switch {
		case end == "" && p.rest == "", end != "" && p.took(end):
			return append(choices, seq(parts)), nil
		case p.rest == "":
			return nil, fmt.Errorf("expected %s before the end of the definition", end)
		case p.took("->"):
			if !larkName(p) {
				return nil, errors.New("expected a name after ->")
			}
		case p.took("|"):
			choices, parts = append(choices, seq(parts)), nil
		default:
			item, err := p.repeated()
			if err != nil {
				return nil, err
			}
			parts = append(parts, item)
		}
	}
}

func larkName(p *larkParser) bool {
	p.skip()
	rest := strings.TrimLeftFunc(p.rest, func(r rune) bool {
		return r == '_' || unicode.IsLetter(r) || unicode.IsDigit(r)
	})
	ok := len(rest) < len(p.rest)
	p.rest = rest
	return ok
}

// larkTimes is a repetition by numbers.
var larkTimes = regexp.MustCompile(`^~[ \t]*([0-9]+)(?:[ \t]*\.\.[ \t]*([0-9]+))?`)

// repeated reads an item with its repetition.
func (p *larkParser) repeated() (*Node, error) {
	item, err := p.item()
	if err != nil {
		return nil, err
	}
	p.skip()
	for _, op := range []struct {
		sign        string
		least, most int
	}{{"?", 0, 1}, {"*", 0, -1}, {"+", 1, -1}} {
		if p.took(op.sign) {
			return &Node{Op: OpRepeat, Subs: []*Node{item}, Min: op.least, Max: op.most}, nil
		}
	}
	m := larkTimes.FindStringSubmatch(p.rest)
	if m == nil {
		return item, nil
	}
	p.rest = p.rest[len(m[0]):]
	least, err1 := strconv.Atoi(m[1])
	most, err2 := strconv.Atoi(cmp.Or(m[2], m[1]))
	if err1 != nil || err2 != nil || most > MaxCount || least > most {
		return nil, fmt.Errorf("%s: expected counts in order, at most %d", m[0], MaxCount)
	}
	return &Node{Op: OpRepeat, Subs: []*Node{item}, Min: least, Max: most}, nil
}

// item reads a text, a range, a regular expression, a group or a name.
func (p *larkParser) item() (*Node, error) {
	switch {
	case p.took("("):
		choices, err := p.alternatives(")")
		return alt(choices), err
	case p.took("["):
		choices, err := p.alternatives("]")
		return &Node{Op: OpRepeat, Subs: []*Node{alt(choices)}, Max: 1}, err
	case strings.HasPrefix(p.rest, `"`):
		return p.text()
	case strings.HasPrefix(p.rest, "/"):
		return p.expression()
	}
	before := p.rest
	if !larkName(p) {
		return nil, fmt.Errorf("expected a text, a regular expression, a group or a name, found %q",
			before)
	}
	name := before[:len(before)-len(p.rest)]
	if strings.HasPrefix(p.rest, "{") {
		return nil, fmt.Errorf("templates such as %s are not supported", name)
	}
	n, err := p.g.rule(name)
	p.inner = err != nil && p.g.rules[name].line > 0
	return n, err
}

// quoted reads a quoted text.
func (p *larkParser) quoted() (string, error) {
	quoted, err := strconv.QuotedPrefix(p.rest)
	if err != nil {
		return "", fmt.Errorf("the text %s has no closing quote, or an unknown escape", p.rest)
	}
	p.rest = p.rest[len(quoted):]
	return strconv.Unquote(quoted)
}

// text reads a text or a range of characters.
func (p *larkParser) text() (*Node, error) {
	text, err := p.quoted()
	if err != nil {
		return nil, err
	}
	from, n := utf8.DecodeRuneInString(text)
	if strings.HasPrefix(p.rest, "..") {
		p.rest = p.rest[2:]
		end, err := p.quoted()
		to, m := utf8.DecodeRuneInString(end)
		if err != nil || n == 0 || m == 0 || n < len(text) || m < len(end) {
			return nil, errors.New("a range needs one character on each side")
		}
		if to < from {
			return nil, fmt.Errorf("the range from %q to %q is not in order", from, to)
		}
		return oneOf(CharRange{from, to}), nil
	}
	either := strings.HasPrefix(p.rest, "i")
	if either {
		p.rest = p.rest[1:]
	}
	parts := []*Node{}
	for _, r := range text {
		if either {
			parts = append(parts, oneOf(CharRange{unicode.ToLower(r), unicode.ToLower(r)},
				CharRange{unicode.ToUpper(r), unicode.ToUpper(r)}))
		} else {
			parts = append(parts, oneOf(CharRange{r, r}))
		}
	}
	return seq(parts), nil
}

// oneOf is one character of ranges.
func oneOf(ranges ...CharRange) *Node { return &Node{Op: OpClass, Ranges: NormalRanges(ranges)} }

// expression reads a regular expression.
func (p *larkParser) expression() (*Node, error) {
	for i := 1; i < len(p.rest); i++ {
		switch p.rest[i] {
		case '\\':
			i++
		case '\n':
			return nil, errors.New("a regular expression has no end in its line")
		case '/':
			text := p.rest[1:i]
			p.rest = p.rest[i+1:]
			if p.rest != "" && strings.ContainsRune("imslux", rune(p.rest[0])) {
				return nil, fmt.Errorf("/%s/%c: flags are not supported", text, p.rest[0])
			}
			whole, err := ParsePattern("^(?:" + text + ")$")
			if err != nil {
				return nil, fmt.Errorf("/%s/: %w", text, err)
			}
			return whole.Root, nil
		}
	}
	return nil, errors.New("a regular expression has no end")
}
