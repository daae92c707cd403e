// Package formatjson writes a format as JSON and reads it back, so that a parser can be made of a
// template's format where there is no template: in another process, another language, another year.
//
// # The document
//
// A [Document] is a JSON object with the member assay_format, the version, and the members of
// [format.Format] in snake case. schema.json, [Schema], describes it for programs,
// docs/reference/format.md for people. A member that has its zero value is left out. A marker is
// the text that the template writes; its white space at the edges is set apart by [format.Mark]
// when it is read. A marker that Mark would set apart otherwise is an object with before, text and
// after.
//
// # Versions
//
// A version is one whole number. It grows when a document of it can mean something that a reader of
// the version before would get wrong: a new member, a new word. A reader refuses versions and
// members that it does not know, since a format that is read in part reads outputs wrongly. Write
// gives a document the least version that has all its members, so that older readers read it where
// they can.
//
// # Limits
//
// Documents may come from strangers: [MaxText] bounds their texts, [MaxItems] their lists, and
// parts nest 32 levels deep.
//
// # Errors
//
// [Read] returns an [Error] with the path of the fault: calls[0].body.entry[2].slot.
//
// # Stability
//
// This package may change with every release; package engine lists the stable ones. Documents of a
// version stay readable.
package formatjson

import (
	_ "embed"
	"fmt"
	"strconv"

	"github.com/goassay/assay/engine/format"
	"github.com/goassay/assay/engine/ordered"
)

// Version is the newest version of documents. Version 2 has the ids that a template takes.
const Version = 2

// Schema is the JSON Schema of the documents, of the draft 2020-12.
//
//go:embed schema.json
var Schema string

// Document is a format with the other facts about its template that a parser needs.
type Document struct {
	Format format.Format
	// Prefills are the texts that the template's prompts put after the header, one for each setting
	// of its switches: the beginning of the model's own text, which a parser reads before the
	// output.
	Prefills []string
}

// Error is a fault in a document.
type Error struct {
	Path string // from the document down; empty: the document itself
	Msg  string
}

func (e *Error) Error() string {
	if e.Path == "" {
		return "the format: " + e.Msg
	}
	return e.Path + ": " + e.Msg
}

// MaxText bounds the texts of a document together, in bytes. The largest format of a template in
// public use has under 4 KiB.
const MaxText = 16 << 10

// MaxItems bounds each list of a document. The longest one of a template in public use has under
// 20 items.
const MaxItems = 64

const versionKey = "assay_format"

// Write returns a document as JSON.
func Write(d Document) ordered.Value {
	version := 1
	w := &writer{ordered.Pairs(versionKey, version), &version}
	document(w, &d)
	return w.out.With(versionKey, ordered.Int(version))
}

// Read reads a document.
func Read(v ordered.Value) (Document, error) {
	var d Document
	if v.Kind() != ordered.Object {
		return d, &Error{Msg: fmt.Sprintf("expected an object, found %s", v.Kind())}
	}
	text, ok := v.Get(versionKey)
	if !ok {
		return d, &Error{Path: versionKey, Msg: "expected the version, found nothing; " +
			"`assay emit format TEMPLATE` writes a document"}
	}
	version, err := strconv.Atoi(text.String())
	if err != nil || version < 1 || version > Version {
		return d, &Error{Path: versionKey,
			Msg: fmt.Sprintf("expected a version from 1 to %d, found %s", Version, text)}
	}
	r := &reader{version: version, in: v, known: map[string]bool{versionKey: true},
		fault: new(error), left: new(int)}
	*r.left = MaxText
	document(r, &d)
	r.end()
	return d, *r.fault
}
