package main

import (
	"encoding/json"
	"fmt"

	"github.com/goassay/assay/corpus"
	"github.com/goassay/assay/harness/corpus/families"
	"github.com/goassay/assay/harness/foreign/engines"
)

var enginesFaultsCommand = command{
	group: proving, name: "faults", args: "RESULTS",
	takes: arity{1, 1, "the results of \"assay engines run\""},
	short: "list the faults of engines by their digests",
	long: `A fault is a case in an engine, and its digest that of both names, so that nobody chooses the
faults that come first. With --json each is an object that has the request, so that it can be put to
the engine without an adapter, as "make faults" does with the first ten.`,
	setup: func(flags *flagSet) func(*call) error {
		first := flags.Int("first", 0, "list the first `N` alone")
		asJSON := flags.Bool("json", false, "print a JSON object for each")
		return func(c *call) error {
			matrix, err := engines.ReadMatrix(c.args[0])
			if err != nil {
				return err
			}
			faults := matrix.Faults()
			if *first > 0 {
				faults = faults[:min(*first, len(faults))]
			}
			if *asJSON {
				return printReproductions(c, faults)
			}
			for i := range faults {
				fmt.Fprintln(c.stdout, faults[i].Line())
			}
			return nil
		}
	},
}

// printReproductions prints faults with the requests of their cases.
func printReproductions(c *call, faults []engines.Result) error {
	loaded, err := families.Load(corpus.FS)
	if err != nil {
		return err
	}
	out := json.NewEncoder(c.data())
	out.SetEscapeHTML(false)
	cases := map[string]map[string]engines.Case{} // by family and id
	for i := range faults {
		name := faults[i].Family
		if cases[name] == nil {
			family, ok := loaded.Family(name)
			if !ok {
				return fmt.Errorf("the corpus has no family %s; run the engines again", name)
			}
			_, all, err := engines.CorpusCases(loaded, family)
			if err != nil {
				return err
			}
			cases[name] = map[string]engines.Case{}
			for _, one := range all {
				cases[name][one.ID] = one
			}
		}
		one, ok := cases[name][faults[i].Case]
		if !ok {
			return fmt.Errorf("the corpus has no case %s; run the engines again", faults[i].Case)
		}
		if err := out.Encode(faults[i].Reproduction(&one)); err != nil {
			return err
		}
	}
	return nil
}
