package fix

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"unicode/utf8"

	"github.com/rogpeppe/go-internal/diff"

	"github.com/goassay/assay/engine/ordered"
)

// Diff returns all patches as a unified diff, "" where there are none.
func (m *Mended) Diff() string { return unified(m.Source.Name, m.Source.Text, m.Text) }

// Diff returns the patch as a unified diff of the template that the patches before it left.
func (p Patch) Diff(name string) string { return unified(name, p.Before, p.After) }

func unified(name, was, is string) string {
	name = pathOf(name)
	text := string(diff.Diff(name, []byte(was), name, []byte(is)))
	_, text, _ = strings.Cut(text, "\n") // the line that says diff
	return text
}

// pathOf writes a file's name as git does in a diff: one with line feeds, escapes, quotes or bytes
// beyond ASCII stands between quotes, with the escapes of C, so that a name cannot add lines to it.
func pathOf(name string) string {
	plain := func(c byte) bool { return c >= ' ' && c < 0x7f && c != '"' && c != '\\' }
	var b strings.Builder
	b.WriteByte('"')
	quoted := false
	for i := range len(name) {
		switch c := name[i]; {
		case plain(c):
			b.WriteByte(c)
			continue
		case c == '\n':
			b.WriteString(`\n`)
		case c == '"', c == '\\':
			b.WriteByte('\\')
			b.WriteByte(c)
		default:
			fmt.Fprintf(&b, `\%03o`, c)
		}
		quoted = true
	}
	if !quoted {
		return name
	}
	return b.String() + `"`
}

// Into returns the text of the file that the template stands in with the patches. In a JSON file
// every byte stays that no edit touches, how the template's own text is escaped included.
func (m *Mended) Into(file string) (string, error) {
	if file == m.Source.Text {
		return m.Text, nil
	}
	raw := strings.TrimPrefix(file, "\ufeff")
	literals, err := literals(raw, m.Source.Text)
	if err != nil {
		return "", fmt.Errorf("%s: %w", m.Source.File, err)
	}
	if len(literals) == 0 {
		return "", fmt.Errorf("%s: the file does not have the template as a string", m.Source.Name)
	}
	for i := len(literals) - 1; i >= 0; i-- {
		from, to := literals[i][0], literals[i][1]
		literal := raw[from:to]
		for _, step := range m.Steps {
			literal = respelled(literal, step)
		}
		raw = raw[:from] + literal + raw[to:]
	}
	return file[:len(file)-len(strings.TrimPrefix(file, "\ufeff"))] + raw, nil
}

// Spelled returns, for each string of a JSON file that is a template, where each byte of the
// template, and its end, is spelled in the file.
func Spelled(file, template string) ([][]int, error) {
	raw := strings.TrimPrefix(file, "\ufeff")
	literals, err := literals(raw, template)
	all := make([][]int, 0, len(literals))
	for _, l := range literals {
		at := offsets(raw[l[0]:l[1]])
		for i := range at {
			at[i] += l[0] + len(file) - len(raw)
		}
		all = append(all, at)
	}
	return all, err
}

// literals returns where the strings stand in a JSON text that are a template.
func literals(raw, template string) ([][2]int, error) {
	in := json.NewDecoder(strings.NewReader(raw))
	var found [][2]int
	for {
		before := int(in.InputOffset())
		token, err := in.Token()
		if err == io.EOF {
			return found, nil
		}
		if err != nil {
			return nil, err
		}
		text, isText := token.(string)
		if !isText || text != template {
			continue
		}
		to := int(in.InputOffset())
		found = append(found, [2]int{before + strings.IndexByte(raw[before:to], '"'), to})
	}
}

// respelled applies edits of the text of a JSON string to the string.
func respelled(literal string, edits []Edit) string {
	at := offsets(literal)
	var b bytes.Buffer
	last := 0
	for _, e := range edits {
		b.WriteString(literal[last:at[e.From]])
		quoted := ordered.Str(e.Text).String()
		b.WriteString(quoted[1 : len(quoted)-1])
		last = at[e.To]
	}
	return b.String() + literal[last:]
}

// offsets returns, for every byte of a JSON string's text and for its end, where it is spelled.
func offsets(literal string) []int {
	var at []int
	for i := 1; i < len(literal)-1; {
		n, size := 1, 1
		if literal[i] == '\\' {
			n = 2
			if literal[i+1] == 'u' {
				n = 6
				if i+12 <= len(literal) && literal[i+6] == '\\' && surrogate(literal[i:i+12]) {
					n = 12
				}
				var text string
				if json.Unmarshal([]byte(`"`+literal[i:i+n]+`"`), &text) == nil {
					size = len(text)
				}
			}
		} else {
			_, n = utf8.DecodeRuneInString(literal[i:])
			size = n
		}
		for range size {
			at = append(at, i)
		}
		i += n
	}
	return append(at, len(literal)-1)
}

// surrogate reports whether two escapes are one character.
func surrogate(escapes string) bool {
	var text string
	err := json.Unmarshal([]byte(`"`+escapes+`"`), &text)
	return err == nil && utf8.RuneCountInString(text) == 1
}
