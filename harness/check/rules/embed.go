//go:build !js

package rules

import (
	"embed"
	"fmt"
	"io/fs"
	"sync"

	"github.com/goassay/assay/harness/check/rule"
)

// Files has the examples. The command reads them as it starts, so that no release has them
// compressed.
//
//go:embed */testdata/*.txtar
var Files embed.FS

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
