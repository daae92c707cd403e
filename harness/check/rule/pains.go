package rule

import (
	_ "embed" // the faults
	"slices"
	"strings"
	"sync"
)

// Pain is a kind of fault as public trackers have it, and the rules that catch it.
type Pain struct {
	ID    string // "P13"
	What  string
	Seen  string   // issues, as OWNER/REPOSITORY#NUMBER
	Rules []string // of the commands check (A...), diff (D...), probe (S...) and provider (V...)
}

// Pains returns the faults that rules are there for.
func Pains() []Pain { return slices.Clone(pains()) }

//go:embed pains.txt
var painList string

// pains are the lines of pains.txt, whose columns are parted by tabs.
var pains = sync.OnceValue(func() (all []Pain) {
	for line := range strings.Lines(painList) {
		f := strings.Split(strings.TrimSuffix(line, "\n"), "\t")
		all = append(all, Pain{f[0], f[1], f[2], strings.Fields(f[3])})
	}
	return all
})
