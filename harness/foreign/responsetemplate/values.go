package responsetemplate

import (
	"fmt"
	"math/big"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/dlclark/regexp2"

	"github.com/goassay/assay/engine/ordered"
)

// parser makes a value of the text of a field.
type parser struct {
	kind  string
	strip bool

	// json
	bareKeys, anything bool
	delimiters         [][2]string

	// xml-inline and kv-lines
	tag            *regexp2.Regexp
	merge          bool
	lineSep, kvSep string
	inner          *parser
}

// newParser reads the kind of a field's content and its arguments.
func newParser(kind string, args ordered.Value) (*parser, error) {
	p := &parser{kind: kind, strip: true, lineSep: "\n", kvSep: ":"}
	allowed := map[string][]string{
		"text": {"strip"}, "int": {"strip"}, "float": {"strip"}, "bool": {"strip"},
		"json":       {"unquoted_keys", "string_delims", "allow_non_json"},
		"xml-inline": {"tag_pattern", "value_parser", "merge_duplicates"},
		"kv-lines":   {"line_sep", "kv_sep", "value_parser"},
	}
	names, ok := allowed[kind]
	if !ok {
		return nil, fmt.Errorf("content: expected text, int, float, bool, json, xml-inline or "+
			"kv-lines, found %q", kind)
	}
	for _, m := range args.Members() {
		if !slices.Contains(names, m.Key) {
			return nil, fmt.Errorf("content_args: %s has no argument %q", kind, m.Key)
		}
	}
	if strip, ok := args.Get("strip"); ok {
		p.strip = isTrue(strip)
	}
	p.bareKeys, p.anything = isTrue(args.At("unquoted_keys")), isTrue(args.At("allow_non_json"))
	for _, pair := range args.At("string_delims").Items() {
		two := pair.Items()
		if len(two) != 2 || two[0].Text() == "" || two[1].Text() == "" {
			return nil, fmt.Errorf("content_args.string_delims: expected pairs of texts, found %s",
				pair)
		}
		p.delimiters = append(p.delimiters, [2]string{two[0].Text(), two[1].Text()})
	}
	if sep := args.At("line_sep"); sep.Kind() == ordered.String {
		p.lineSep = sep.Text()
	}
	if sep := args.At("kv_sep"); sep.Kind() == ordered.String {
		p.kvSep = sep.Text()
	}
	p.merge = isTrue(args.At("merge_duplicates"))
	switch kind {
	case "xml-inline":
		pattern := args.At("tag_pattern")
		if !strings.Contains(pattern.Text(), "<key>") ||
			!strings.Contains(pattern.Text(), "<value>") {
			return nil, fmt.Errorf("content_args.tag_pattern: expected a pattern with the groups " +
				"key and value")
		}
		var err error
		if p.tag, err = compile(pattern.Text()); err != nil {
			return nil, fmt.Errorf("content_args.tag_pattern: %w", err)
		}
		fallthrough
	case "kv-lines":
		inner := args.At("value_parser")
		name := "text"
		if inner.Kind() == ordered.Object {
			if given := inner.At("name"); given.Kind() == ordered.String {
				name = given.Text()
			}
		} else if !inner.IsNull() {
			return nil, fmt.Errorf("content_args.value_parser: expected an object, found %s", inner)
		}
		var err error
		if p.inner, err = newParser(name, inner.At("args")); err != nil {
			return nil, fmt.Errorf("content_args.value_parser: %w", err)
		}
	}
	return p, nil
}

// space is what Python's str.strip takes off.
const space = " \t\n\r\v\f\x1c\x1d\x1e\x1f\u0085\u00a0\u2028\u2029\u3000"

var (
	integer = regexp.MustCompile(`^[+-]?[0-9]+(_[0-9]+)*$`)
	decimal = regexp.MustCompile(`^[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?$`)
)

func (p *parser) value(text string) (ordered.Value, error) {
	stripped := text
	if p.strip {
		stripped = strings.Trim(text, space)
	}
	switch p.kind {
	case "int":
		if v, ok := toInt(stripped); ok && integer.MatchString(stripped) {
			return v, nil
		}
		return ordered.Value{}, fmt.Errorf("%q is no integer", stripped)
	case "float":
		if v, ok := toNumber(stripped); ok {
			return v, nil
		}
		return ordered.Value{}, fmt.Errorf("%q is no number", stripped)
	case "bool":
		word := strings.ToLower(stripped)
		return ordered.Boolean(word == "true" || word == "1"), nil
	case "json":
		return p.json(text)
	case "xml-inline":
		return p.tags(text)
	case "kv-lines":
		return p.lines(text)
	}
	return ordered.Str(stripped), nil
}

func (p *parser) json(text string) (ordered.Value, error) {
	text = strings.Trim(text, space)
	v, err := ordered.ParseString(text)
	if err != nil && (p.bareKeys || len(p.delimiters) > 0) {
		v, err = ordered.ParseString(p.plain(text))
	}
	if err != nil && p.anything {
		return ordered.Str(text), nil
	} else if err != nil {
		return v, fmt.Errorf("the text is no JSON: %w", err)
	}
	return v, nil
}

// plain turns a dialect of JSON into JSON: texts between delimiters, and keys without quotes that
// stand right after a brace or a comma.
func (p *parser) plain(text string) string {
	var b strings.Builder
	for i := 0; i < len(text); {
		if end, inner, ok := p.delimited(text[i:]); ok {
			b.Write(ordered.AppendQuoted(nil, inner, false))
			i += end
			continue
		}
		if text[i] == '"' {
			end := i + 1
			for end < len(text) && text[end] != '"' {
				if text[end] == '\\' {
					end++
				}
				end++
			}
			end = min(end+1, len(text))
			b.WriteString(text[i:end])
			i = end
			continue
		}
		b.WriteByte(text[i])
		i++
		if c := text[i-1]; p.bareKeys && (c == '{' || c == ',') {
			end := i
			for end < len(text) && isWord(text[end]) {
				end++
			}
			if end > i && end < len(text) && text[end] == ':' {
				b.WriteString(`"` + text[i:end] + `"`)
				i = end
			}
		}
	}
	return b.String()
}

func isWord(c byte) bool {
	return c == '_' || c >= '0' && c <= '9' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' ||
		c >= 0x80
}

// delimited returns the text between delimiters at the beginning of a text, and where it ends.
func (p *parser) delimited(text string) (end int, inner string, ok bool) {
	for _, d := range p.delimiters {
		rest, ok := strings.CutPrefix(text, d[0])
		if !ok {
			continue
		}
		if i := strings.Index(rest, d[1]); i >= 0 {
			return len(d[0]) + i + len(d[1]), rest[:i], true
		}
	}
	return 0, "", false
}

// entries collects keys with their values.
type entries struct {
	members []ordered.Member
	merged  map[string]bool
	merge   bool
}

func (e *entries) add(key string, v ordered.Value) {
	i := slices.IndexFunc(e.members, func(m ordered.Member) bool { return m.Key == key })
	switch {
	case i < 0:
		e.members = append(e.members, ordered.Member{Key: key, Value: v})
	case !e.merge:
		e.members[i].Value = v
	case e.merged[key]:
		e.members[i].Value = ordered.ArrayOf(append(slices.Clone(e.members[i].Value.Items()), v)...)
	default:
		if e.merged == nil {
			e.merged = map[string]bool{}
		}
		e.merged[key] = true
		e.members[i].Value = ordered.ArrayOf(e.members[i].Value, v)
	}
}

func (p *parser) tags(text string) (ordered.Value, error) {
	all := entries{merge: p.merge}
	until := time.Now().Add(endurance)
	m, err := p.tag.FindStringMatch(text)
	for ; m != nil && err == nil; m, err = p.tag.FindNextMatch(m) {
		if time.Now().After(until) {
			return ordered.Value{}, errSlow
		}
		v, err := p.inner.value(m.GroupByName("value").String())
		if err != nil {
			return v, err
		}
		all.add(strings.Trim(m.GroupByName("key").String(), space), v)
	}
	return ordered.ObjectOf(all.members...), err
}

func (p *parser) lines(text string) (ordered.Value, error) {
	all := entries{}
	for _, line := range strings.Split(text, p.lineSep) {
		key, value, ok := strings.Cut(line, p.kvSep)
		if !ok {
			continue
		}
		v, err := p.inner.value(strings.Trim(value, space))
		if err != nil {
			return v, err
		}
		all.add(strings.Trim(key, space), v)
	}
	return ordered.ObjectOf(all.members...), nil
}

// cast returns a message in which texts among the arguments of calls have the types of their
// schemas.
func cast(message, tools ordered.Value) ordered.Value {
	if len(tools.Items()) == 0 {
		return message
	}
	calls := message.At("tool_calls")
	if calls.Kind() != ordered.Array {
		return message
	}
	items := slices.Clone(calls.Items())
	for i, call := range items {
		f := call.At("function")
		arguments := f.At("arguments")
		if arguments.Kind() != ordered.Object {
			continue
		}
		properties := propertiesOf(tools, f.At("name").Text())
		members := slices.Clone(arguments.Members())
		for k, m := range members {
			if m.Value.Kind() == ordered.String {
				members[k].Value = castText(m.Value, properties.At(m.Key))
			}
		}
		items[i] = call.With("function", f.With("arguments", ordered.ObjectOf(members...)))
	}
	return message.With("tool_calls", ordered.ArrayOf(items...))
}

func propertiesOf(tools ordered.Value, name string) ordered.Value {
	for _, tool := range tools.Items() {
		f := tool.At("function")
		if f.IsNull() {
			f = tool
		}
		if f.At("name").Text() == name {
			return f.At("parameters", "properties")
		}
	}
	return ordered.Value{}
}

// castText returns a text as a value of one of a schema's types; as it is where it is of none.
func castText(v, s ordered.Value) ordered.Value {
	var types []string
	add := func(t ordered.Value) {
		if t.Kind() == ordered.String {
			types = append(types, t.Text())
		}
		for _, item := range t.Items() {
			types = append(types, item.Text())
		}
	}
	add(s.At("type"))
	for _, key := range []string{"anyOf", "oneOf"} {
		for _, option := range s.At(key).Items() {
			add(option.At("type"))
		}
	}
	text := strings.Trim(v.Text(), space)
	for _, t := range types {
		switch t {
		case "integer":
			if got, ok := toInt(text); ok {
				return got
			}
		case "number":
			if got, ok := toNumber(text); ok {
				return got
			}
		case "boolean":
			switch strings.ToLower(text) {
			case "true", "1":
				return ordered.Boolean(true)
			case "false", "0":
				return ordered.Boolean(false)
			}
		case "null":
			switch strings.ToLower(text) {
			case "null", "none":
				return ordered.Value{}
			}
		case "array", "object":
			got, err := ordered.ParseString(text)
			if err == nil && (got.Kind() == ordered.Array) == (t == "array") &&
				(got.Kind() == ordered.Array || got.Kind() == ordered.Object) {
				return got
			}
		}
	}
	return v
}

// toInt returns a number that is whole, such as 7, 007, 1.0 or 1e2.
func toInt(text string) (ordered.Value, bool) {
	if !decimal.MatchString(text) {
		return ordered.Value{}, false
	}
	if i, ok := new(big.Int).SetString(strings.TrimPrefix(text, "+"), 10); ok {
		return ordered.Num(i.String()), true
	}
	const digits = 400 // the largest that Python's float has
	_, exponent, _ := strings.Cut(strings.ToLower(text), "e")
	if len(text) > digits || len(strings.TrimLeft(exponent, "+-0")) > 3 {
		return ordered.Value{}, false
	}
	r, ok := new(big.Rat).SetString(text)
	if !ok || !r.IsInt() {
		return ordered.Value{}, false
	}
	return ordered.Num(r.Num().String()), true
}

// toNumber returns a number as JSON writes it.
func toNumber(text string) (ordered.Value, bool) {
	if v, ok := toInt(text); ok {
		return v, true
	}
	if !decimal.MatchString(text) {
		return ordered.Value{}, false
	}
	whole := strings.TrimPrefix(text, "+")
	sign := ""
	if rest, ok := strings.CutPrefix(whole, "-"); ok {
		sign, whole = "-", rest
	}
	if strings.HasPrefix(whole, ".") {
		whole = "0" + whole
	}
	for len(whole) > 1 && whole[0] == '0' && whole[1] >= '0' && whole[1] <= '9' {
		whole = whole[1:]
	}
	v, err := ordered.ParseString(sign + whole)
	return v, err == nil
}
