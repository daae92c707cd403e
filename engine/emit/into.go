package emit

import (
	"bytes"
	"encoding/json"
	"errors"
	"strings"

	"github.com/goassay/assay/engine/ordered"
	"github.com/goassay/assay/engine/source"
)

// Indent returns a value as JSON text on lines of their own, indented by two spaces, with a line
// feed at the end.
func Indent(v ordered.Value) string {
	var b bytes.Buffer
	if err := json.Indent(&b, v.Append(nil, ordered.Spaced), "", "  "); err != nil {
		panic("emit: " + err.Error()) // the value's own text is JSON
	}
	b.WriteByte('\n')
	return b.String()
}

// Into returns the text of a JSON object with a member set: in its place where the object has it,
// else after the last one, indented as the others are. Every other byte stays. The name is the
// file's, for errors.
func Into(name, text, key string, v ordered.Value) (string, error) {
	in := json.NewDecoder(strings.NewReader(text))
	fail := func(err error) (string, error) {
		offset := int(in.InputOffset())
		var syntax *json.SyntaxError
		if errors.As(err, &syntax) {
			offset = int(syntax.Offset)
		}
		return "", source.Errorf(source.New(name, text), min(offset, len(text)),
			"expected a JSON object: %v", err)
	}
	if token, err := in.Token(); err != nil {
		return fail(err)
	} else if token != json.Delim('{') {
		return "", source.Errorf(source.New(name, text), 0, "expected a JSON object")
	}
	lead, last := "", int(in.InputOffset())
	first := true
	for in.More() {
		before := last
		token, err := in.Token()
		if err != nil {
			return fail(err)
		}
		after := int(in.InputOffset())
		if first {
			lead = text[before : before+strings.IndexByte(text[before:after], '"')]
			first = false
		}
		var raw json.RawMessage
		if err := in.Decode(&raw); err != nil {
			return fail(err)
		}
		last = int(in.InputOffset())
		if token == key {
			return text[:last-len(raw)] + indented(v, lead) + text[last:], nil
		}
	}
	if _, err := in.Token(); err != nil {
		return fail(err)
	}
	member := lead + string(ordered.Str(key).Append(nil, ordered.Spaced)) + ": " + indented(v, lead)
	if first {
		return text[:last] + member + text[last:], nil
	}
	return text[:last] + "," + member + text[last:], nil
}

// indented returns a value's text for a member that the text lead precedes: on lines of their own
// where members are.
func indented(v ordered.Value, lead string) string {
	newline := strings.LastIndexByte(lead, '\n')
	if newline < 0 {
		return v.String()
	}
	prefix := lead[newline+1:]
	var b bytes.Buffer
	if err := json.Indent(&b, v.Append(nil, ordered.Spaced), prefix, prefix); err != nil {
		panic("emit: " + err.Error()) // the value's own text is JSON
	}
	return b.String()
}
