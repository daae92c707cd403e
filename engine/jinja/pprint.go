package jinja

import (
	"cmp"
	"slices"
	"strings"
)

// printer is Python's pprint.pformat with its defaults: a width of 80, dicts sorted by key, one
// item a line where the whole does not fit.
type printer struct {
	e   *eval
	out strings.Builder
}

const printWidth = 80

func filterPprint(c *call) Value {
	p := printer{e: c.eval}
	p.format(c.recv, 0, 0, 0)
	out := stringValue(p.out.String())
	if c.recv.prov != nil {
		out.prov = &prov{run: run{node: c.recv.prov.node, role: FromValue, codec: Python,
			inexact: true}}
	}
	return out
}

// oneLine is repr with the keys of dicts sorted.
func (p *printer) oneLine(v Value) string {
	return repr(p.e, p.sorted(v)).text()
}

func (p *printer) sorted(v Value) Value {
	p.e.enter()
	defer p.e.leave()
	switch v.kind {
	case List, Tuple:
		items := slices.Clone(v.items())
		for i := range items {
			items[i] = p.sorted(items[i])
		}
		p.e.step(len(items))
		return p.e.seq(items).value(v.kind)
	case Dict:
		entries := p.entries(v.dict())
		for i := range entries {
			entries[i].value = p.sorted(entries[i].value)
		}
		p.e.step(len(entries))
		return dictValue(&dict{entries: entries})
	}
	return v
}

// entries returns a dict's entries sorted by key; keys that cannot be compared are sorted by type.
func (p *printer) entries(d *dict) []entry {
	entries := slices.Clone(d.all())
	slices.SortStableFunc(entries, func(a, b entry) int {
		before := func(a, b entry) (bool, error) {
			return attempt(p.e, func() bool { return order(p.e, "<", a.key, b.key) })
		}
		if less, err := before(a, b); err != nil {
			return cmp.Compare(typeName(a.key), typeName(b.key))
		} else if less {
			return -1
		}
		if less, _ := before(b, a); less {
			return 1
		}
		return 0
	})
	return entries
}

// format writes v at an indentation; allowance is the number of characters that will follow it on
// its last line.
func (p *printer) format(v Value, indent, allowance, level int) {
	p.e.enter()
	defer p.e.leave()
	text := p.oneLine(v)
	p.e.charge(len(text))
	if runeCount(text) > printWidth-indent-allowance {
		switch {
		case v.kind == Dict:
			p.dict(p.entries(v.dict()), indent, allowance+1, level+1)
			return
		case v.kind == List:
			p.items("[", v.items(), "]", indent, allowance, level+1)
			return
		case v.kind == Tuple && !v.seq().group:
			last := ")"
			if len(v.items()) == 1 {
				last = ",)"
			}
			p.items("(", v.items(), last, indent, allowance, level+1)
			return
		case v.kind == String:
			p.text(v.text(), indent, allowance, level+1)
			return
		}
	}
	p.out.WriteString(text)
}

func (p *printer) newline(indent int) { p.out.WriteString("\n" + strings.Repeat(" ", indent)) }

func (p *printer) dict(entries []entry, indent, allowance, level int) {
	p.out.WriteByte('{')
	indent++
	for i, e := range entries {
		key := p.oneLine(e.key)
		p.out.WriteString(key + ": ")
		after := 1
		if i == len(entries)-1 {
			after = allowance
		}
		p.format(e.value, indent+runeCount(key)+2, after, level)
		if i < len(entries)-1 {
			p.out.WriteByte(',')
			p.newline(indent)
		}
	}
	p.out.WriteByte('}')
}

func (p *printer) items(first string, items []Value, last string, indent, allowance, level int) {
	p.out.WriteString(first)
	indent++
	for i, item := range items {
		after := 1
		if i == len(items)-1 {
			after = allowance + len(last)
		}
		p.format(item, indent, after, level)
		if i < len(items)-1 {
			p.out.WriteByte(',')
			p.newline(indent)
		}
	}
	p.out.WriteString(last)
}

// text writes a long string as several literals, one a line, cut after white space.
func (p *printer) text(s string, indent, allowance, level int) {
	if s == "" {
		p.out.WriteString("''")
		return
	}
	if level == 1 {
		indent++
		allowance++
	}
	width := printWidth - indent
	var chunks []string
	for at := 0; at < len(s); {
		_, end := lineEnd(s, at)
		line := s[at:end]
		at = end
		last := at == len(s)
		room := width
		if last {
			room -= allowance
		}
		if text := pyQuote(line); runeCount(text) <= room {
			chunks = append(chunks, text)
			continue
		}
		current := ""
		for line != "" {
			n := 0
			for n < len(line) {
				r, size := decodeRune(line[n:])
				if isSpace(r) {
					break
				}
				n += size
			}
			n += spaceEnd(line[n:])
			part := line[:n]
			line = line[n:]
			room := width
			if last && line == "" {
				room -= allowance
			}
			if runeCount(pyQuote(current+part)) > room {
				if current != "" {
					chunks = append(chunks, pyQuote(current))
				}
				current = part
			} else {
				current += part
			}
		}
		if current != "" {
			chunks = append(chunks, pyQuote(current))
		}
	}
	if len(chunks) == 1 {
		p.out.WriteString(chunks[0])
		return
	}
	if level == 1 {
		p.out.WriteByte('(')
	}
	for i, c := range chunks {
		if i > 0 {
			p.newline(indent)
		}
		p.out.WriteString(c)
	}
	if level == 1 {
		p.out.WriteByte(')')
	}
}
