// Package document reads TOML into a tree whose every key and value has its place, so that a wrong
// setting is an error at a place.
//
// # Errors
//
// [Parse] returns a [source.Error] for a text that is no TOML, with its place.
//
// # Stability
//
// This package may change with every release; package engine lists the stable ones.
package document

import (
	"errors"
	"strings"

	"github.com/pelletier/go-toml/v2"
	"github.com/pelletier/go-toml/v2/unstable"

	"github.com/goassay/assay/engine/ordered"
	"github.com/goassay/assay/engine/source"
)

// Kind is what a value is.
type Kind string

// The kinds, as messages name them.
const (
	Text   Kind = "a string"
	Truth  Kind = "true or false"
	Number Kind = "a number"
	Date   Kind = "a date"
	List   Kind = "a list"
	Table  Kind = "a table"
)

// Value is a value of a document.
type Value struct {
	Kind  Kind
	Off   int      // where it begins in the text, in bytes
	Text  string   // of a string; of a number as it is written
	True  bool     // of a truth
	Items []*Value // of a list
	Keys  []Key    // of a table, in the order of the text

	fields map[string]*Value
}

// Key is a key of a table.
type Key struct {
	Name  string
	Off   int // where it stands in the text, in bytes
	Value *Value
}

// Field returns the value of a key of a table, nil where there is none.
func (v *Value) Field(name string) *Value { return v.fields[name] }

// add gives a table a key, and returns the value that the key has from then on.
func (v *Value) add(name string, off int, value *Value) *Value {
	if v.fields == nil {
		v.fields = map[string]*Value{}
	}
	v.fields[name] = value
	v.Keys = append(v.Keys, Key{name, off, value})
	return value
}

// within returns the table of a key, which is made where there is none; of a list of tables the
// last one.
func (v *Value) within(name string, off int) *Value {
	is := v.fields[name]
	if is == nil {
		return v.add(name, off, &Value{Kind: Table, Off: off})
	}
	if is.Kind == List && len(is.Items) > 0 {
		return is.Items[len(is.Items)-1]
	}
	return is
}

// Parse reads a document; its value is a table.
func Parse(src *source.Source) (*Value, error) {
	text := []byte(src.Text)
	var whole map[string]any // which finds keys that are given twice
	if err := toml.Unmarshal(text, &whole); err != nil {
		return nil, located(src, err)
	}
	root := &Value{Kind: Table}
	p := new(unstable.Parser)
	p.Reset(text)
	table := root
	for p.NextExpression() {
		switch e := p.Expression(); e.Kind {
		case unstable.Table:
			table = descend(root, e.Key(), false)
		case unstable.ArrayTable:
			table = descend(root, e.Key(), true)
		case unstable.KeyValue:
			assign(table, e, src.Text)
		}
	}
	return root, p.Error()
}

// located gives an error of the library its place in the text.
func located(src *source.Source, err error) error {
	var wrong *toml.DecodeError
	if why := source.Encoding(src.Text); why != "" {
		return source.Errorf(src, 0, "%s", why)
	}
	if !errors.As(err, &wrong) {
		return source.Errorf(src, 0, "%s", strings.TrimPrefix(err.Error(), "toml: "))
	}
	line, col := wrong.Position()
	off := 0
	for ; line > 1; line-- {
		off += strings.IndexByte(src.Text[off:], '\n') + 1
	}
	return source.Errorf(src, off+col-1, "%s", strings.TrimPrefix(wrong.Error(), "toml: "))
}

// descend returns the table that a header names; another marks one more item of a list of tables.
func descend(root *Value, keys unstable.Iterator, another bool) *Value {
	table := root
	for keys.Next() {
		k := keys.Node()
		name, off := string(k.Data), int(k.Raw.Offset)
		if !another || !keys.IsLast() {
			table = table.within(name, off)
			continue
		}
		list := table.fields[name]
		if list == nil {
			list = table.add(name, off, &Value{Kind: List, Off: off})
		}
		list.Items = append(list.Items, &Value{Kind: Table, Off: off})
		table = list.Items[len(list.Items)-1]
	}
	return table
}

// assign gives a table the value of a pair, whose key may have dots.
func assign(table *Value, pair *unstable.Node, text string) {
	keys := pair.Key()
	for keys.Next() {
		k := keys.Node()
		name, off := string(k.Data), int(k.Raw.Offset)
		if !keys.IsLast() {
			table = table.within(name, off)
			continue
		}
		at := off + int(k.Raw.Length)
		at += len(text[at:]) - len(strings.TrimLeft(text[at:], " \t="))
		table.add(name, off, valueOf(pair.Value(), at, text))
	}
}

// valueOf converts a value that stands at an offset.
func valueOf(n *unstable.Node, at int, text string) *Value {
	v := &Value{Off: at, Text: string(n.Data)}
	switch n.Kind {
	case unstable.String:
		v.Kind = Text
	case unstable.Bool:
		v.Kind, v.True = Truth, v.Text == "true"
	case unstable.Integer, unstable.Float:
		v.Kind = Number
	case unstable.Array:
		v.Kind = List
		for items := n.Children(); items.Next(); {
			if item := items.Node(); item.Kind != unstable.Comment {
				v.Items = append(v.Items, valueOf(item, start(item, at), text))
			}
		}
	case unstable.InlineTable:
		v.Kind = Table
		for pairs := n.Children(); pairs.Next(); {
			if pair := pairs.Node(); pair.Kind == unstable.KeyValue {
				assign(v, pair, text)
			}
		}
	default:
		v.Kind = Date
	}
	return v
}

// start returns where an item of a list begins: the list's own place where the parser keeps none.
func start(item *unstable.Node, list int) int {
	if item.Raw.Length > 0 {
		return int(item.Raw.Offset)
	}
	return list
}

// Quote spells a string as TOML does: a string of JSON is one of TOML, but for DEL.
func Quote(text string) string {
	return strings.ReplaceAll(ordered.Str(text).String(), "\x7f", `\u007f`)
}
