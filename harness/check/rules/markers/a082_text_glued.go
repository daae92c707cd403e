package markers

import (
	"fmt"
	"regexp"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/goassay/assay/engine/jinja"
	"github.com/goassay/assay/harness/check/fact/markup"
	"github.com/goassay/assay/harness/check/fact/prompts"
	"github.com/goassay/assay/harness/check/probe"
	"github.com/goassay/assay/harness/check/rule"
	"github.com/goassay/assay/harness/conversation"
)

// TextGlued is the rule A082: the text of a message runs into other text with nothing between.
var TextGlued = &probe.Rule{
	Rule: rule.Rule{
		ID: "A082", Name: "text-glued", Severity: rule.Warning, Harm: rule.Glued,
		Short: "The content of a message runs into other text with nothing between.",
		Damage: "The last word of one text and the first of the next become a word that nobody " +
			"wrote, with other tokens.",
		Fix: "Write a line feed, a space or a marker between them, in every branch.",
	},
	Requires: []string{"A064"},
	Find:     checkGlued,
}

// free reports whether the text at a path is somebody's own words.
func free(t *prompts.Prompt, r jinja.Run) bool {
	i := prompts.MessageOf(r)
	return r.Role == jinja.FromValue && i >= 0 && i < len(t.Kinds) &&
		prompts.Spoken.MatchString(r.Path)
}

// proseGlued are sentences of the template's own that run into each other, or into a block that
// begins in the same line, and headings that run into the text below them.
var proseGlued = regexp.MustCompile(`[a-z]{2}[.!?:]\(?[A-Z][a-z]+ [a-z]` +
	`|[^A-Za-z0-9]</[A-Za-z_:]+>[A-Z][a-z]* [a-z]|[a-z]{2}:<[A-Za-z_:]+>\n` +
	`|[a-z]{2} <[^<>\s]+>[A-Z][a-z]+ [a-z]+ [a-z]+ ` +
	`|\n#{1,6} [^\n]*[a-z]{2}[A-Z][a-z]+ [a-z]+ [^\n]{40}`)

// sentence matches a text that ends with a sentence.
var sentence = regexp.MustCompile(`[a-z]+ [a-z]+ [^\n]*[a-z]{2}[.!?]$`)

// checkProse looks at the instructions of the template.
func checkProse(s *probe.Subject, find probe.Finder) {
	if p, at := prompts.FindOwn(s, proseGlued); at != nil {
		mid := min((at[0]+at[1])/2, at[0]+prompts.Shortest)
		p.In.Show(s, find, mid, "two texts of the template run into each other, "+
			"without white space between them")
	}
}

func checkGlued(s *probe.Subject, find probe.Finder) {
	checkProse(s, find)
	type seam struct{ kind, other string }
	seen := map[seam]bool{}
	for t := range prompts.Rendered(s) {
		at := 0
		for i, r := range t.Seen.Runs {
			from := at
			at += r.Len
			if i == 0 || r.Len == 0 || t.Seen.Runs[i-1].Len == 0 {
				continue
			}
			before := t.Seen.Runs[i-1]
			a, _ := utf8.DecodeLastRuneInString(t.Text[:from])
			b, _ := utf8.DecodeRuneInString(t.Text[from:])
			word := func(r rune) bool { return unicode.IsLetter(r) || unicode.IsDigit(r) }
			left, right := free(t, before), free(t, r)
			var this seam
			switch {
			case left && right && prompts.MessageOf(before) != prompts.MessageOf(r):
				if t.Kinds[prompts.MessageOf(before)] == conversation.Call && s.Fires("A064") {
					continue // it stands behind the results, and so before their answer
				}
				this = seam{t.Kinds[prompts.MessageOf(before)].String(),
					"the text of " + probe.Article(t.Kinds[prompts.MessageOf(r)].String())}
			case left && r.Role == jinja.Literal && picture(t, before):
				continue // whose own text follows the part before, as its sender has put it
			case left && r.Role == jinja.Literal && word(b) && (word(a) ||
				strings.ContainsRune(".!?", a)):
				this = seam{t.Kinds[prompts.MessageOf(before)].String(),
					"the template's " + probe.JSON(firstWord(t.Text[from:at]))}
			case left && r.Role == jinja.Literal && !unicode.IsSpace(a) &&
				prompts.Instructs(t.Kinds[prompts.MessageOf(before)]) &&
				beginsBlock(t.Own()[from:]):
				this = seam{t.Kinds[prompts.MessageOf(before)].String(), "a block of the template"}
			case left && r.Role == jinja.Literal && heading(t.Text[from:at]):
				this = seam{t.Kinds[prompts.MessageOf(before)].String(),
					"a heading of the template"}
			case r.Role == jinja.Literal && inLine(t.Text[from:at]):
				at := from + headingInLine.FindStringIndex(t.Text[from:at])[0]
				t.Show(s, find, at, "a heading does not begin its line")
				return
			case right && before.Role == jinja.Literal && word(b) && endsBlock(t.Own()[:from]):
				this = seam{t.Kinds[prompts.MessageOf(r)].String(),
					"the end of a block of the template"}
			case right && word(b) && (before.Role == jinja.Literal && (word(a) ||
				sentence.MatchString(t.Text[from-before.Len:from])) ||
				word(a) && strings.HasSuffix(before.Path, ".role")):
				this = seam{t.Kinds[prompts.MessageOf(r)].String(),
					"the template's " + probe.JSON(lastWord(t.Text[from-before.Len:from]))}
			default:
				continue
			}
			if !seen[this] {
				seen[this] = true
				if left { // whose end lacks something
					from--
				}
				t.Show(s, find, from, "the text of %s runs into %s",
					probe.Article(this.kind), this.other)
			}
		}
	}
}

// picture reports whether a part that is no text follows the one that a text came from.
func picture(t *prompts.Prompt, text jinja.Run) bool {
	var message, part int
	if _, err := fmt.Sscanf(text.Path, "messages[%d].content[%d]", &message, &part); err != nil {
		return false
	}
	parts := t.In.Messages[message].At("content").Items()
	return part+1 < len(parts) && parts[part+1].At("type").Text() != "text"
}

// beginsBlock reports whether the template's own text begins with an element that fills lines of
// its own: a line feed stands after its beginning and before its end.
func beginsBlock(own string) bool {
	at, to, ok := markup.Next(own[:min(len(own), markup.Longest)], 0)
	if !ok || at != 0 || own[0] != '<' || !strings.HasPrefix(own[to:], "\n") {
		return false
	}
	end := strings.Index(own, "</"+own[1:to])
	return end > 0 && own[end-1] == '\n'
}

// endsBlock reports whether the template's own text ends with such an element.
func endsBlock(own string) bool {
	end, ok := markup.Last(own)
	if !ok || !strings.HasPrefix(end, "</") || !strings.HasSuffix(own, end) {
		return false
	}
	inside := own[:len(own)-len(end)]
	open := strings.LastIndex(inside, "<"+end[len("</"):])
	return open >= 0 && strings.HasSuffix(inside, "\n") &&
		strings.HasPrefix(inside[open+len(end)-1:], "\n")
}

// headingInLine is a heading of Markdown after a sentence in the same line.
var headingInLine = regexp.MustCompile(`[a-z][.!?:]#{1,6} [A-Z]`)

func inLine(text string) bool {
	return strings.Contains(text, "#") && headingInLine.MatchString(text)
}

// heading reports whether a text begins with a heading of Markdown.
func heading(text string) bool {
	bare := strings.TrimLeft(text, "#")
	return len(bare) < len(text) && strings.HasPrefix(bare, " ")
}

func lastWord(text string) string {
	return text[strings.LastIndexAny(text, " \n>")+1:]
}
