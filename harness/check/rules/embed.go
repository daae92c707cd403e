//go:build !js

package rules

import (
	"embed"
	"fmt"
	"io/fs"
	"sync"

	"github.com/goassay/assay/harness/check/rule"
	"github.com/goassay/assay/harness/corpus/embedded"
)

//go:embed */testdata/*.txtar
var stored embed.FS

// Files has the examples.
var Files = embedded.FS{Stored: &stored}

// Examples returns the examples by the ids of their rules.
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
