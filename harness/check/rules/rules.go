// Package rules has the examples of the rules, which lie beside them: a rule is the file
// SUBJECT/aNNN_name.go of a package below, and its example SUBJECT/testdata/aNNN-name.txtar.
//
// # Stability
//
// This package may change with every release; package engine lists the stable ones.
package rules

import (
	"fmt"
	"io/fs"
	"sync"

	"github.com/goassay/assay/harness/check/rule"
	"github.com/goassay/assay/harness/corpus/embedded"
)

// Files has the examples.
var Files = embedded.New(stored)

// Examples returns the examples by the ids of their rules. In a browser there are none.
var Examples = sync.OnceValue(func() map[string]*rule.Example {
	all := map[string]*rule.Example{}
	names, err := fs.Glob(Files, "*/testdata/*.txtar")
	if err != nil {
		panic(err) // the pattern is wrong
	}
	for _, name := range names {
		text, err := Files.ReadFile(name)
		if err != nil {
			panic(err) // it is embedded
		}
		e, err := rule.ParseExample(text)
		if err != nil {
			panic(fmt.Errorf("%s: %w", name, err)) // the tests have read it
		}
		all[e.Rule] = e
	}
	return all
})
