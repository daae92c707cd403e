package main

import (
	_ "embed" // the heads of the page and of its table of answers
	"fmt"
	"path"
	"strings"

	"github.com/goassay/assay/harness/check/rules/encoders"
)

//go:embed head.md
var head string

//go:embed answers.md
var answersHead string

// pair is a template with the encoder that it is held to.
type pair struct {
	template string // its file
	command  string // of the encoder
	known    []*judged

	encoder string // its name and version
	counts  encoders.Counts
	answers answers
	same    bool // the format that the encoder shows is that of the template
}

// name is the family of a corpus' template, the file's name of another one.
func (p *pair) name() string {
	if dir, file := path.Split(p.template); file == "template.jinja" {
		return "corpus " + path.Base(dir)
	}
	return strings.TrimSuffix(path.Base(p.template), ".jinja")
}

// judged is a difference that somebody has judged.
type judged struct {
	key   string // A190:17, A192 with the first words of the refusal, or FORMAT
	right string // the template, the encoder, both; "" where nobody has judged it
	why   string
	n     int // conversations that have it
}

func (k *judged) String() string {
	if k.right == "" {
		return fmt.Sprintf("not judged: %s (%d): %s", k.key, k.n, k.why)
	}
	return "gone: " + k.key
}

// where is the place of the difference for people.
func (k *judged) where() string {
	if words, ok := strings.CutPrefix(k.key, "A192 "); ok {
		return "the encoder refuses: " + words
	}
	if k.key == "FORMAT" {
		return "the format learnt"
	}
	rule, line, _ := strings.Cut(k.key, ":")
	if rule == "A191" {
		return "line " + line + " refuses"
	}
	return "line " + line
}

// rights are who may be right.
var rights = []string{"encoder", "template", "both", "open"}

// parse reads the list: a line "TEMPLATE: COMMAND" for each pair, then lines of its differences,
// each after a tab: "KEY: RIGHT: WHY".
func parse(text string) ([]*pair, error) {
	var pairs []*pair
	n := 0
	for line := range strings.Lines(text) {
		n++
		line = strings.TrimSuffix(line, "\n")
		below, isBelow := strings.CutPrefix(line, "\t")
		switch {
		case line == "" || strings.HasPrefix(line, "#"):
		case !isBelow:
			template, command, ok := strings.Cut(line, ": ")
			if !ok {
				return nil, fmt.Errorf("judged.txt:%d: expected TEMPLATE: COMMAND", n)
			}
			pairs = append(pairs, &pair{template: template, command: command})
		default:
			k := difference(below)
			if k == nil || len(pairs) == 0 {
				return nil, fmt.Errorf("judged.txt:%d: expected KEY: RIGHT: WHY below a pair, "+
					"where RIGHT is one of %s", n, strings.Join(rights, ", "))
			}
			p := pairs[len(pairs)-1]
			p.known = append(p.known, k)
		}
	}
	return pairs, nil
}

// difference parts a line of a difference; the words of a refusal may have colons.
func difference(line string) *judged {
	for _, right := range rights {
		if key, why, ok := strings.Cut(line, ": "+right+": "); ok {
			return &judged{key: key, right: right, why: why}
		}
	}
	return nil
}
