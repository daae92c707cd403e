package main

import (
	"bytes"
	"errors"
	"fmt"
	"strings"

	"github.com/goassay/assay/engine/ordered"
	"github.com/goassay/assay/engine/wire"
	"github.com/goassay/assay/harness/foreign/responsetemplate"
	"github.com/goassay/assay/harness/hub/manifest"
)

// manifests grow along the dimensions of a list of templates.
var manifests = []generator{
	{"entries", times(`{"what": "template", "where": "a/b%d", "digest": "` + manifest.Digest("x") +
		`", "file": "f%d"}` + "\n")},
	{"files", list(`{"what": "repository", "where": "a/b", "revision": "r", "files": [`, `"f%d"`,
		"]}\n")},
	{"one name", func(n int) string {
		return `{"what": "template", "where": "` + strings.Repeat("x", n) + `"}` + "\n"
	}},
}

// wireDoors are the readers of the three protocols, of manifests and of response templates.
func wireDoors() (all []door) {
	for _, p := range wire.All {
		request := ofJSON(func(_ string, v ordered.Value) error {
			random := bytes.NewReader(make([]byte, 1<<10))
			sealer, err := wire.NewSealer(make([]byte, 32), random)
			if err == nil {
				_, err = p.Decode(v, sealer)
			}
			return limited(err)
		})
		answer := ofJSON(func(_ string, v ordered.Value) error {
			p.Read(v)
			return nil
		})
		name := "request of " + p.Name()
		all = append(all, door{name, false, tabled(name), request},
			door{"answer of " + p.Name(), false, tabled("answers"), answer})
	}
	return append(all,
		door{"manifest", false, manifests, func(text string) error {
			_, _, err := manifest.Read(strings.NewReader(text), manifest.Template,
				func(manifest.Entry) error { return nil })
			return limited(err)
		}},
		door{"response template", false, tabled("response templates"),
			ofJSON(func(_ string, v ordered.Value) error {
				read, err := responsetemplate.Read(v)
				if err == nil {
					_, err = read.Parse(strings.Repeat("<x1>a</x1>", 10), "A", ordered.Value{})
				}
				return limited(err)
			})})
}

// limited takes a refusal for a limit.
func limited(err error) error {
	if err != nil && !errors.Is(err, errLimit) {
		return fmt.Errorf("%w: %w", errLimit, err)
	}
	return err
}
