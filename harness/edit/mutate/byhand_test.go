package mutate

import (
	"embed"
	"fmt"
	"slices"
	"strings"
)

//go:embed testdata/bugs.txt testdata/harmless.txt
var edits embed.FS

// Edit is an edit made by hand: a bug, or one that does no harm.
type Edit struct {
	Class    string
	Template string // a family of the corpus
	Find     string // every place that has it is edited
	Replace  string
	Why      string
	Line     int // of the list
}

// Apply makes the edit. It fails where the template has no such place.
func (e Edit) Apply(text string) (string, error) {
	if !strings.Contains(text, e.Find) {
		return "", fmt.Errorf("line %d: the template of %s has no %q", e.Line, e.Template, e.Find)
	}
	return strings.ReplaceAll(text, e.Find, e.Replace), nil
}

// Bugs returns the bugs of testdata/bugs.txt.
func Bugs() ([]Edit, error) { return readEdits("testdata/bugs.txt") }

// Harmless returns the edits of testdata/harmless.txt.
func Harmless() ([]Edit, error) { return readEdits("testdata/harmless.txt") }

// readEdits reads a list: "## class", and for each edit "@ template", the stretch that is found
// after "- ", that which takes its place after "+ ", and a sentence after "= ". Lines without a
// sign continue a stretch.
func readEdits(name string) ([]Edit, error) {
	text, err := edits.ReadFile(name)
	if err != nil {
		return nil, err
	}
	var all []Edit
	class := ""
	var into *string // the stretch that a line continues
	for i, line := range strings.Split(string(text), "\n") {
		sign, rest, _ := strings.Cut(line, " ")
		if into != nil && !slices.Contains([]string{"##", "@", "-", "+", "="}, sign) {
			*into += "\n" + line
			continue
		}
		switch sign {
		case "##":
			class, into = rest, nil
		case "@":
			all, into = append(all, Edit{Class: class, Template: rest, Line: i + 1}), nil
		case "":
		case "-", "+", "=":
			if len(all) == 0 {
				return nil, fmt.Errorf("%s:%d: expected @ and a template before %q", name, i+1,
					line)
			}
			e := &all[len(all)-1]
			switch sign {
			case "-":
				e.Find, into = rest, &e.Find
			case "+":
				e.Replace, into = rest, &e.Replace
			default:
				e.Why, into = rest, nil
			}
		default:
			return nil, fmt.Errorf("%s:%d: %q begins with none of the signs ## @ - + =", name,
				i+1, line)
		}
	}
	return all, nil
}
