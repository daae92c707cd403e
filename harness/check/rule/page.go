package rule

import (
	"fmt"
	"slices"
	"strings"

	"github.com/goassay/assay/harness/report/visible"
)

// Page describes the rule for a terminal of a width, as Markdown does for a page: text without
// marks, blocks with an indent. Colours are those of a terminal.
func (r Rule) Page(width int, colors bool) string {
	paint := func(color, text string) string {
		if !colors {
			return text
		}
		return color + text + "\x1b[0m"
	}
	const bold, red, green = "\x1b[1m", "\x1b[31m", "\x1b[32m"
	var b strings.Builder
	prose := func(name, text string) {
		if name != "" {
			text = name + ": " + text
		}
		text = visible.Wrap(text, width, "")
		if name != "" {
			text = paint(bold, name+":") + strings.TrimPrefix(text, name+":")
		}
		b.WriteString(text + "\n\n")
	}
	block := func(text string) {
		for _, line := range strings.Split(text, "\n") {
			switch line = "    " + line; {
			case strings.HasPrefix(line, "    -"):
				line = paint(red, line)
			case strings.HasPrefix(line, "    +"):
				line = paint(green, line)
			}
			b.WriteString(line + "\n")
		}
		b.WriteByte('\n')
	}
	kind := r.Severity.String()
	if r.Harm != 0 {
		kind += ", " + r.Harm.String()
	}
	fmt.Fprintf(&b, "%s (%s)\n\n", paint(bold, r.ID+" "+r.Name), kind)
	prose("", r.Short)
	prose("Damage", r.Damage)
	prose("Fix", r.Fix)
	for _, p := range pains() {
		if slices.Contains(p.Rules, r.ID) {
			prose("Seen", fmt.Sprintf("%s (%s, %s)", p.What, p.ID, p.Seen))
		}
	}
	e := r.Example
	if e == nil {
		return strings.TrimSuffix(b.String(), "\n")
	}
	prose("Example", e.Summary)
	block(e.change())
	if e.Flags != nil {
		prose("", "`assay check "+strings.Join(e.Flags, " ")+"` finds it.")
	}
	if e.Conversation != "" {
		prose("", "Without the change the request")
		block(e.Conversation)
		if e.Error != "" {
			prose("", "ends in the error")
			block(e.Error)
		} else {
			prose("", "has in its prompt")
			block(e.Prompt)
		}
	}
	return strings.TrimSuffix(b.String(), "\n")
}
