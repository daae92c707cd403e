package responsetemplate

import (
	"fmt"
	"strings"
	"time"

	"github.com/dlclark/regexp2"
)

// patience bounds one search for one pattern.
const patience = 250 * time.Millisecond

// endurance bounds all searches in an output, and in all outputs of a judgement.
const endurance = 2 * time.Second

var errSlow = fmt.Errorf("the searches for its patterns take more than %v", endurance)

// compile compiles a pattern of Python's regex module with DOTALL. A construct that means something
// else here, or nothing, is refused by name.
func compile(pattern string) (*regexp2.Regexp, error) {
	translated, err := translate(pattern)
	if err != nil {
		return nil, err
	}
	re, err := regexp2.Compile(translated, regexp2.Singleline)
	if err != nil {
		return nil, fmt.Errorf("pattern %q: %w", pattern, err)
	}
	re.MatchTimeout = patience
	return re, nil
}

// groups are the groups that begin with (? and mean the same in both languages.
var groups = []string{"(?:", "(?=", "(?!", "(?<=", "(?<!", "(?>", "(?i)", "(?s)", "(?m)", "(?x)",
	"(?i:", "(?s:", "(?m:"}

// escapes are the letters and digits that mean the same after a backslash.
const escapes = "dDsSwWbBAnrtfvaux"

// translate rewrites a pattern for regexp2, whose language is .NET's.
func translate(pattern string) (string, error) {
	var b strings.Builder
	refuse := func(what string) (string, error) {
		return "", fmt.Errorf("pattern %q: %s; Python and this reader differ there", pattern, what)
	}
	class := false
	for i := 0; i < len(pattern); i++ {
		rest := pattern[i:]
		switch c := pattern[i]; {
		case c == '\\' && len(rest) == 1:
			return refuse("it ends with a backslash")
		case c == '\\':
			i++
			switch e := rest[1]; {
			case e == 'Z':
				b.WriteString(`\z`)
			case e >= '0' && e <= '9':
				return refuse(`\` + string(e) + ` is a reference by number`)
			case (e >= 'a' && e <= 'z' || e >= 'A' && e <= 'Z') &&
				!strings.ContainsRune(escapes, rune(e)):
				return refuse(`\` + string(e))
			default:
				b.WriteString(rest[:2])
			}
		case class:
			if c == ']' {
				class = false
			} else if strings.HasPrefix(rest, "[:") || strings.HasPrefix(rest, "-[") {
				return refuse("a set in a set")
			} else if c == '[' {
				b.WriteByte('\\')
			} else if strings.HasPrefix(rest, "--") || strings.HasPrefix(rest, "&&") ||
				strings.HasPrefix(rest, "||") || strings.HasPrefix(rest, "~~") {
				return refuse("an operation on sets, " + rest[:2])
			}
			b.WriteByte(c)
		case c == '[':
			class = true
			b.WriteByte(c)
			if strings.HasPrefix(rest, "[^") {
				i++
				b.WriteByte('^')
			}
			if strings.HasPrefix(pattern[i+1:], "]") { // which is a member here
				i++
				b.WriteString(`\]`)
			}
		case strings.HasPrefix(rest, "(?P<"), strings.HasPrefix(rest, "(?<") &&
			!strings.HasPrefix(rest, "(?<=") && !strings.HasPrefix(rest, "(?<!"):
			b.WriteString("(?<")
			i += strings.IndexByte(rest, '<')
		case strings.HasPrefix(rest, "(?P="):
			end := strings.IndexByte(rest, ')')
			if end < 0 {
				return refuse("(?P= without an end")
			}
			b.WriteString(`\k<` + rest[4:end] + `>`)
			i += end
		case strings.HasPrefix(rest, "(?"):
			known := ""
			for _, g := range groups {
				if strings.HasPrefix(rest, g) {
					known = g
				}
			}
			if known == "" {
				return refuse("the group " + rest[:min(len(rest), 4)])
			}
			b.WriteString(known)
			i += len(known) - 1
		case strings.HasPrefix(rest, "(*"):
			return refuse("the verb " + rest[:min(len(rest), 8)])
		case (c == '+' && i > 0 && strings.IndexByte("*+?}", pattern[i-1]) >= 0) &&
			(i < 2 || pattern[i-2] != '\\'):
			return refuse("a possessive repetition")
		case c == '{' && strings.HasPrefix(rest, "{e"), strings.HasPrefix(rest, "{i"),
			strings.HasPrefix(rest, "{s"), strings.HasPrefix(rest, "{d"):
			return refuse("a fuzzy match")
		default:
			b.WriteByte(c)
		}
	}

	return b.String(), nil
}
