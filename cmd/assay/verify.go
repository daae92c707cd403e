package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/goassay/assay/engine"
	"github.com/goassay/assay/engine/source"
	"github.com/goassay/assay/harness/check/rule"
	"github.com/goassay/assay/harness/corpus/outline"
	"github.com/goassay/assay/harness/corpus/tokens"
	"github.com/goassay/assay/harness/foreign/vector"
	"github.com/goassay/assay/harness/report"
)

var verifyCommand = command{
	group: proving, name: "verify", args: "VECTORS...",
	takes: arity{1, -1, "at least one file of vectors"}, files: vectorFiles,
	short: "run test vectors, JSON lines of the kinds render, jinja, parse, grammar, schema and " +
		"caps, and the cases of CanIToolCall, Dynamo and K2 Vendor Verifier",
	long: `VECTORS are files, folders of *.jsonl and *.yaml files, or "-" for standard input. Files
of YAML are Dynamo's parser fixtures, whose families --templates names as the models dynamo/FAMILY.
A list of known failures has reasons on lines of their own and, indented below each, the ids of the
vectors that fail for it. These must fail: one that passes is a failure, until it leaves the list.`,
	setup: func(flags *flagSet) func(*call) error {
		v := new(verification)
		flags.StringArrayVar(&v.templates, "templates", nil, "`DIR` with the templates that "+
			"vectors name; may be given again")
		flags.StringArrayVar(&v.tokenizers, "tokenizer", nil, "`REPO=FILE` with the tokeniser of a "+
			"repository that vectors name (tokenizer.json, a GGUF, or a model folder), so that "+
			"outputs are read by their token ids, too; a FILE that is given later for the same "+
			"REPO adds its added tokens; may be given again")
		flags.StringVar(&v.only, "run", "", "run only vectors whose id contains `TEXT`")
		flags.BoolVar(&v.shrink, "minimize", false, "shrink the first vector of the kind parse "+
			"that fails, and print a script that shows it")
		flags.IntVar(&v.from, "from", 0, "leave out the first `N` vectors, which a run that was "+
			"interrupted has done")
		flags.StringArrayVar(&v.known, "known", nil, "`FILE` with known failures; "+
			"may be given again")
		nowFlag(flags, &v.now)
		v.output, v.limits = outputFlags(flags), limitFlag(flags, engine.Limits{})
		return v.run
	},
}

type verification struct {
	output    *output
	limits    *limits
	only      string
	shrink    bool
	templates []string
	known     []string
	from      int
	now       func() time.Time // the clock of templates; nil: that of package subject

	tokenizers []string
}

// expect marks the known failures; in a run of all vectors it adds those that no vector has.
func expect(r *report.Report, known map[string]string, whole bool) {
	id := func(res *rule.Result) string { return res.Name }
	rule.Expect(r.Results, known, id)
	if whole {
		r.Results = append(r.Results, rule.Unused(r.Results, known, id)...)
	}
}

func (v *verification) run(c *call) error {
	verifier, err := v.verifier()
	if err != nil {
		return err
	}
	known, err := readReasons(v.known)
	if err != nil {
		return err
	}
	if err := v.output.shard.choose(c); err != nil {
		return err
	}
	inputs, cleanup, err := c.spool(c.args)
	if err != nil {
		return err
	}
	defer cleanup()
	total, chosen, err := v.check(inputs)
	if err != nil {
		return err
	}
	if chosen == 0 {
		return fmt.Errorf("no vector's id contains %q, or --from or --shard leave none", v.only)
	}
	ctx := c.ctx
	cut := false
	r := &report.Report{Command: "verify", Version: version()}
	step, end := c.progress("vectors", chosen)
	done := 0
	in := files{inputs: inputs}
	defer in.close()
	choose := v.chooser()
	err = verifier.Run(ctx, func() (vector.Vector, error) { return in.next(choose) },
		func(res rule.Result) {
			// the render may have been interrupted, so the result may be incomplete
			if cut = cut || ctx.Err() != nil; cut {
				return
			}
			v.output.keep(c, r, known, res)
			if done++; step != nil {
				step(done)
			}
		})
	end()
	if err == nil && cut {
		err = context.Cause(ctx)
	}
	if err != nil && ctx.Err() == nil {
		return err
	}
	expect(r, known, chosen == total && err == nil)
	if v.shrink {
		return v.minimize(c, verifier, inputs, r.Results)
	}
	failed := v.output.write(c, r)
	if err != nil {
		fmt.Fprintf(c.stderr, "--from %d goes on\n", v.from+done)
	}
	return c.ended(err, failed, done, chosen, "vectors")
}

// minimize shrinks the first vector of the kind parse that fails.
func (v *verification) minimize(c *call, verifier *vector.Verifier, inputs []input,
	results []rule.Result) error {
	failed := map[rule.Place]bool{}
	for i := range results {
		if results[i].Status == rule.Failed && results[i].Suite == "parse" {
			failed[results[i].Place] = true
		}
	}
	in := files{inputs: inputs}
	defer in.close()
	for {
		vec, err := in.next(func(vec *vector.Vector) bool { return failed[vec.Place] })
		if errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			return err
		}
		big, err := verifier.Case(c.ctx, &vec)
		if err != nil {
			return fmt.Errorf("%s: %w", vec.ID, err)
		}
		if holds, err := c.minimize(big); !holds {
			return err
		}
	}
	fmt.Fprintln(c.stderr, "no vector of the kind parse fails, so there is nothing to shrink")
	return nil
}

// check reads all files for faults, so that nothing runs if there is one, and counts the vectors.
func (v *verification) check(inputs []input) (total, chosen int, err error) {
	choose := v.chooser()
	for _, in := range inputs {
		f, err := os.Open(in.path)
		if err != nil {
			return 0, 0, err
		}
		n, err := vector.Check(in.name, f, func(vec *vector.Vector) bool {
			total++
			return choose(vec)
		})
		f.Close()
		if err != nil {
			return 0, 0, err
		}
		chosen += n
	}
	return total, chosen, nil
}

// chooser returns the function that picks the vectors to run, counting across all files: those
// whose id has the text, that are in the shard, and that come after the first --from of these.
func (v *verification) chooser() func(*vector.Vector) bool {
	mine := 0
	return func(vec *vector.Vector) bool {
		if !strings.Contains(vec.ID, v.only) {
			return false
		}
		if !v.output.shard.Has(vec.ID) {
			return false
		}
		mine++
		return mine > v.from
	}
}

// input is a file as a person names it, and where it is read from.
type input struct{ name, path string }

// maxSpooled bounds the copy of standard input, in bytes, so that no program fills the disk.
const maxSpooled = 4 << 30

// spool returns the inputs of names. Vectors are read twice, so stdin is kept in a file, which
// cleanup removes.
func (c *call) spool(names []string) (inputs []input, cleanup func(), err error) {
	for _, name := range names {
		files, err := vector.Files(name)
		if err != nil {
			return nil, nil, err
		}
		for _, file := range files {
			inputs = append(inputs, input{file, file})
		}
	}
	at := slices.Index(inputs, input{"-", "-"})
	if at < 0 {
		return inputs, func() {}, nil
	}
	f, err := os.CreateTemp("", "assay-vectors-")
	if err != nil {
		return nil, nil, err
	}
	n, err := io.Copy(f, io.LimitReader(c.stdin, maxSpooled+1))
	if err == nil && n > maxSpooled {
		err = fmt.Errorf("standard input: more than %d GiB; name a file instead", maxSpooled>>30)
	}
	if err := errors.Join(err, f.Close()); err != nil {
		os.Remove(f.Name())
		return nil, nil, err
	}
	inputs[at].path = f.Name()
	return inputs, func() { os.Remove(f.Name()) }, nil
}

// files reads the vectors of several files, one after the other.
type files struct {
	inputs []input
	file   *os.File
	reader *vector.Reader
}

func (f *files) next(chosen func(*vector.Vector) bool) (vector.Vector, error) {
	for {
		if f.file == nil {
			if len(f.inputs) == 0 {
				return vector.Vector{}, io.EOF
			}
			var err error
			if f.file, err = os.Open(f.inputs[0].path); err != nil {
				return vector.Vector{}, err
			}
			f.reader, f.inputs = vector.NewReader(f.inputs[0].name, f.file), f.inputs[1:]
		}
		vec, err := f.reader.Next()
		switch {
		case errors.Is(err, io.EOF):
			f.close()
		case err != nil:
			return vec, err
		case chosen(&vec):
			return vec, nil
		}
	}
}

func (f *files) close() {
	if f.file != nil {
		f.file.Close()
		f.file = nil
	}
}

func (v *verification) verifier() (*vector.Verifier, error) {
	verifier := &vector.Verifier{Limits: v.limits.Limits, Now: v.now}
	var folders []fs.FS
	for _, name := range v.templates {
		if info, err := os.Stat(name); err != nil {
			return nil, err
		} else if !info.IsDir() {
			return nil, fmt.Errorf("--templates %s is not a folder", name)
		}
		folders = append(folders, os.DirFS(name))
	}
	if folders != nil {
		verifier.Templates = vector.NewTemplates(folders...)
	}
	verifier.Tokenizers = map[string]tokens.Tokenizer{}
	for _, arg := range v.tokenizers {
		repo, file, ok := strings.Cut(arg, "=")
		if !ok {
			return nil, usageError{fmt.Errorf("--tokenizer %s; expected REPO=FILE, such as "+
				"google/gemma-4-31B-it=tokenizer.json", arg)}
		}
		t, err := tokens.Open(file)
		if err != nil {
			return nil, err
		}
		if first, ok := verifier.Tokenizers[repo]; ok {
			t = first.With(t)
		}
		verifier.Tokenizers[repo] = t
	}
	return verifier, nil
}

// readReasons reads lists of known failures.
func readReasons(files []string) (map[string]string, error) {
	all := map[string]string{}
	for _, name := range files {
		text, err := readFile(name)
		if err != nil {
			return nil, err
		}
		known, err := outline.Reasons(source.New(name, string(text)))
		if err != nil {
			return nil, err
		}
		maps.Copy(all, known)
	}
	return all, nil
}
