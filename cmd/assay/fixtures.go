package main

import (
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"runtime/debug"
	"slices"
	"strings"

	"github.com/goassay/assay/engine/ordered"
	"github.com/goassay/assay/harness/corpus/families"
	"github.com/goassay/assay/harness/corpus/script"
	"github.com/goassay/assay/harness/foreign/canitoolcall"
	"github.com/goassay/assay/harness/report/safefile"
)

// fixtures writes a corpus as records of CanIToolCall.
type fixtures struct {
	as, out string
	models  []string
}

func (f *fixtures) run(c *call, e *export) error {
	if len(f.models) == 0 {
		return usageError{errors.New("--as canitoolcall takes at least one --model, such as " +
			"hermes=NousResearch/Hermes-3-Llama-3.1-8B@COMMIT: a record has to name the model " +
			"that writes so, and the corpus names none")}
	}
	if f.out == "" {
		return usageError{errors.New("--as canitoolcall takes --out DIR, for a folder a family")}
	}
	models := map[string]canitoolcall.Model{}
	for _, text := range f.models {
		family, m, err := canitoolcall.ParseModel(text)
		if err != nil {
			return usageError{fmt.Errorf("--model: %w", err)}
		}
		models[family] = m
	}
	loaded, err := loadCorpus(c.args)
	if err != nil {
		return err
	}
	for _, name := range slices.Sorted(maps.Keys(models)) {
		family, ok := loaded.Family(name)
		if !ok {
			return fmt.Errorf("--model: the corpus has no family %s", name)
		}
		if err := f.family(c, e, loaded, family, models[name]); err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
	}
	return nil
}

// family writes the folder of a family.
func (f *fixtures) family(c *call, e *export, loaded *families.Corpus, family *families.Family,
	m canitoolcall.Model) error {
	src, err := script.Own(loaded, family.Name)
	if err != nil {
		return err
	}
	t, err := src.Limited(c.ctx, e.limits.Limits).Compile()
	if err != nil {
		return err
	}
	w := canitoolcall.NewWriter(family.Name, t, m, origin())
	about, err := w.Family(family.About)
	if err != nil {
		return err
	}
	var lines strings.Builder
	written, left := 0, map[string]int{}
	cases, err := script.ReadAll(loaded.FS, family.Cases)
	if err != nil {
		return err
	}
	for _, one := range cases {
		record, err := w.Record(one)
		if err != nil {
			left[err.Error()]++
			continue
		}
		fmt.Fprintln(&lines, record)
		written++
	}
	dir := filepath.Join(f.out, family.Name)
	if err := os.MkdirAll(dir, 0o777); err != nil {
		return err
	}
	for name, text := range map[string]string{"assay.jsonl": lines.String(),
		"family.json": string(about.Append(nil, ordered.Pretty)) + "\n"} {
		if err := safefile.Write(filepath.Join(dir, name), safefile.Text(text)); err != nil {
			return err
		}
	}
	fmt.Fprintf(c.stderr, "%s: %d records\n", family.Name, written)
	for _, why := range slices.Sorted(maps.Keys(left)) {
		fmt.Fprintf(c.stderr, "  %d cases have none: %s\n", left[why], why)
	}
	return nil
}

// origin is where the embedded corpus is from: the repository at the commit that this program was
// built of, else at its release.
func origin() canitoolcall.Source {
	revision := version()
	if info, ok := debug.ReadBuildInfo(); ok {
		for _, s := range info.Settings {
			if s.Key == "vcs.revision" {
				revision = s.Value
			}
		}
	}
	return canitoolcall.Source{Revision: revision,
		URL: "https://github.com/goassay/assay/tree/" + revision + "/corpus"}
}
