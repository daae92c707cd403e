package families

import (
	"io/fs"
	"strings"

	"github.com/goassay/assay/corpus"
)

// Own is one of our own templates, as the page offers it.
type Own struct {
	Name     string `json:"name"`
	Template string `json:"template"`
}

// Owned lists the templates that are embedded in this program.
func Owned() []Own {
	names, err := fs.Glob(corpus.FS, "*/"+OwnTemplate)
	if err != nil {
		panic(err) // the pattern is wrong
	}
	var all []Own
	for _, name := range names {
		text, err := fs.ReadFile(corpus.FS, name)
		if err != nil {
			panic(err) // it is embedded
		}
		all = append(all, Own{strings.TrimSuffix(name, "/"+OwnTemplate), string(text)})
	}
	return all
}
