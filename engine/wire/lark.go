package wire

import (
	"errors"
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

// larkPattern returns the regular expression of the texts of a grammar in Lark's syntax, as clients
// give it for the input of a custom tool. Rules are put in where they are named, so one that names
// itself is an error. Lark reads a text by tokens, each as long as possible; the expression does
// not, and lets through a text that this splits otherwise.
//
// Understood are rules and terminals with their aliases and priorities, texts, ranges and regular
// expressions, groups and repetitions, and imports of Lark's common terminals. The specification is
// Lark's grammar reference (lark-parser.readthedocs.io, version 1.2).
func larkPattern(grammar string) (string, error) {
	if len(grammar) > maxLark {
		return "", fmt.Errorf("it has more than %d bytes", maxLark)
	}
	g := &larkGrammar{rules: map[string]larkRule{}, made: map[string]string{},
		open: map[string]bool{}}
	if err := g.read(grammar); err != nil {
		return "", err
	}
	if _, ok := g.rules["start"]; !ok {
		return "", errors.New("it has no rule start")
	}
	return g.rule("start")
}

const (
	// maxLark bounds a grammar and its regular expression, each in bytes: rules that name others
	// twice, which do the same, grow as powers of two.
	maxLark = 64 << 10
	// maxLarkDepth bounds groups and rules within each other.
	maxLarkDepth = 200
)

// larkGrammar is a grammar whose rules are read. A rule's text is parsed when it is put in.
type larkGrammar struct {
	rules map[string]larkRule
	made  map[string]string // regular expressions of rules
	open  map[string]bool   // rules that are being put in
	size  int               // of all that was made, in bytes
	depth int               // of groups and rules that are being read
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
				g.made[to], g.rules[to] = text, larkRule{line: number}
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

// rule returns the regular expression of a rule, as one piece.
func (g *larkGrammar) rule(name string) (string, error) {
	if text, ok := g.made[name]; ok {
		return text, g.grow(text)
	}
	r, ok := g.rules[name]
	switch {
	case !ok:
		return "", fmt.Errorf("%s is not defined", name)
	case g.open[name]:
		return "", fmt.Errorf("line %d: %s names itself; only grammars without recursion are "+
			"supported", r.line, name)
	}
	g.open[name] = true
	p := &larkParser{g: g, rest: r.text}
	text, err := p.alternatives("")
	if err != nil {
		if !p.inner {
			err = fmt.Errorf("line %d: %w", r.line+strings.Count(r.text, "\n")-
				strings.Count(p.rest, "\n"), err)
		}
		return "", err
	}
	g.open[name] = false
	g.made[name] = text
	return text, g.grow(text)
}

func (g *larkGrammar) grow(text string) error {
	if g.size += len(text); g.size > maxLark {
		return fmt.Errorf("its regular expression has more than %d bytes", maxLark)
	}
	return nil
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
func (p *larkParser) alternatives(end string) (string, error) {
	if p.g.depth++; p.g.depth > maxLarkDepth {
		return "", fmt.Errorf("more than %d groups and rules stand within each other", maxLarkDepth)
	}
	defer func() { p.g.depth-- }()
	all := []string{""}
	for {
		p.skip()
		switch last := len(all) - 1; {
		case end == "" && p.rest == "", end != "" && p.took(end):
			if last == 0 {
				return all[0], nil
			}
			return "(?:" + strings.Join(all, "|") + ")", nil
		case p.rest == "":
			return "", fmt.Errorf("expected %s before the end of the definition", end)
		case p.took("->"):
			if !larkName(p) {
				return "", errors.New("expected a name after ->")
			}
		case p.took("|"):
			all = append(all, "")
		default:
			item, err := p.repeated()
			if err != nil {
				return "", err
			}
			all[last] += item
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
func (p *larkParser) repeated() (string, error) {
	item, err := p.item()
	if err != nil {
		return "", err
	}
	p.skip()
	for _, op := range [...]string{"?", "*", "+"} {
		if p.took(op) {
			return "(?:" + item + ")" + op, nil
		}
	}
	if m := larkTimes.FindStringSubmatch(p.rest); m != nil {
		p.rest = p.rest[len(m[0]):]
		if m[2] == "" {
			return "(?:" + item + "){" + m[1] + "}", nil
		}
		return "(?:" + item + "){" + m[1] + "," + m[2] + "}", nil
	}
	return item, nil
}

// item reads a text, a range, a regular expression, a group or a name.
func (p *larkParser) item() (string, error) {
	switch {
	case p.took("("):
		text, err := p.alternatives(")")
		return "(?:" + text + ")", err
	case p.took("["):
		text, err := p.alternatives("]")
		return "(?:" + text + ")?", err
	case strings.HasPrefix(p.rest, `"`):
		return p.text()
	case strings.HasPrefix(p.rest, "/"):
		return p.expression()
	}
	before := p.rest
	if !larkName(p) {
		return "", fmt.Errorf("expected a text, a regular expression, a group or a name, found %q",
			before)
	}
	name := before[:len(before)-len(p.rest)]
	if strings.HasPrefix(p.rest, "{") {
		return "", fmt.Errorf("templates such as %s are not supported", name)
	}
	text, err := p.g.rule(name)
	p.inner = err != nil && p.g.rules[name].line > 0
	return "(?:" + text + ")", err
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
func (p *larkParser) text() (string, error) {
	text, err := p.quoted()
	if err != nil {
		return "", err
	}
	if strings.HasPrefix(p.rest, "..") {
		p.rest = p.rest[2:]
		to, err := p.quoted()
		if err != nil || utf8.RuneCountInString(text) != 1 || utf8.RuneCountInString(to) != 1 {
			return "", errors.New("a range needs one character on each side")
		}
		return "[" + larkInSet(text) + "-" + larkInSet(to) + "]", nil
	}
	either := strings.HasPrefix(p.rest, "i")
	if !either {
		return larkQuote(text), nil
	}
	p.rest = p.rest[1:]
	b := ""
	for _, r := range text {
		if lower, upper := string(unicode.ToLower(r)), string(unicode.ToUpper(r)); lower != upper {
			b += "[" + lower + upper + "]"
		} else {
			b += larkQuote(string(r))
		}
	}
	return b, nil
}

// larkQuote writes a text as a regular expression.
func larkQuote(text string) string { return larkEscape(text, `\^$.|?*+()[]{}`) }

// larkInSet writes a character for a set of them.
func larkInSet(text string) string { return larkEscape(text, `\^[]-`) }

func larkEscape(text, special string) string {
	var b strings.Builder
	for _, r := range text {
		switch {
		case r == '\n':
			b.WriteString(`\n`)
		case r < ' ':
			fmt.Fprintf(&b, `\x%02x`, r)
		default:
			if strings.ContainsRune(special, r) {
				b.WriteByte('\\')
			}
			b.WriteRune(r)
		}
	}
	return b.String()
}

// expression reads a regular expression.
func (p *larkParser) expression() (string, error) {
	for i := 1; i < len(p.rest); i++ {
		switch p.rest[i] {
		case '\\':
			i++
		case '\n':
			return "", errors.New("a regular expression has no end in its line")
		case '/':
			text := p.rest[1:i]
			p.rest = p.rest[i+1:]
			if p.rest != "" && strings.ContainsRune("imslux", rune(p.rest[0])) {
				return "", fmt.Errorf("/%s/%c: flags are not supported", text, p.rest[0])
			}
			return "(?:" + text + ")", nil
		}
	}
	return "", errors.New("a regular expression has no end")
}
