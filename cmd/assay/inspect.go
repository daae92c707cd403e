package main

import (
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/goassay/assay/engine"
	"github.com/goassay/assay/engine/model"
	"github.com/goassay/assay/engine/model/gguf"
	"github.com/goassay/assay/engine/model/hub"
	"github.com/goassay/assay/engine/ordered"
	"github.com/goassay/assay/engine/source"
	"github.com/goassay/assay/harness/check/subject"
)

var inspectCommand = command{
	group: serving, name: "inspect", args: "MODEL.gguf|hf:OWNER/REPO[:FILE]",
	takes: arity{1, 1, "one model file"}, files: modelFiles,
	short: "print a model file's metadata, and the gate's verdict",
	long: `Only the file's header is read, so a model of any size takes milliseconds. Of a split
model give the first part. The gate judges the template named tool_use where there is one, else the
default one. exit status 1 means that it rejects the model, 2 that the file cannot be read; with
--json that is an object of type "error".

Of a model on the Hub the header alone is fetched; the file is chosen as assay pull does it.` + hubHelp,
	setup: func(flags *flagSet) func(*call) error {
		i := new(inspection)
		flags.BoolVar(&i.keys, "keys", false, "print every key and tensor instead")
		i.step, i.remote = new(step).flags(flags), remoteFlags(flags)
		return func(c *call) error {
			err := i.run(c)
			if err != nil && !errors.Is(err, errFailed) && i.json {
				fmt.Fprintf(c.stdout, "%s\n", errorValue(c.args[0], err).
					Append(nil, ordered.Pretty))
			}
			return err
		}
	},
}

type inspection struct {
	*step
	*remote
	keys bool
}

func (i *inspection) run(c *call) error {
	switch onHub := strings.HasPrefix(c.args[0], hub.Scheme); {
	case i.json && i.keys:
		return errors.New("--keys prints text only")
	case onHub:
		return i.onHub(c)
	case i.revision != "":
		return fmt.Errorf("--revision is for models on the Hub, %sOWNER/REPO", hub.Scheme)
	case i.keys:
		return i.printKeys(c)
	}
	m, err := model.Inspect(c.ctx, c.args[0], engine.Options{Now: subject.Now,
		Limits: i.limits.Limits})
	if err != nil {
		return err
	}
	return i.print(c, m, "", m.Value().With("file", ordered.Str(c.args[0])))
}

// onHub inspects a model on the Hub.
func (i *inspection) onHub(c *call) error {
	ref, err := i.ref(c.args[0])
	if err != nil {
		return err
	}
	client, err := i.client(c)
	if err != nil {
		return err
	}
	m, err := model.InspectHub(c.ctx, client, ref,
		engine.Options{Now: subject.Now, Limits: i.limits.Limits})
	if err != nil {
		return err
	}
	if m.Sequential {
		fmt.Fprintf(c.stderr, "assay inspect: note: the server ignores ranges, so everything up "+
			"to the header's end was read, %s\n", hub.Bytes(m.Bytes))
	}
	if i.keys {
		_, err = io.WriteString(c.stdout, m.Keys)
		return err
	}
	v := m.Value().With("file", ordered.Str(m.File)).With("repository", ordered.Str(m.Repo.ID)).
		With("commit", ordered.Str(m.Repo.Commit)).
		With("bytes_read", ordered.Int(int(m.Bytes)))
	return i.print(c, m.Model,
		fmt.Sprintf("repository: %s\ncommit: %s\nfile: %s\n", m.Repo.ID, m.Repo.Commit, m.File), v)
}

// print prints a model as text after a head, or as JSON, and fails where the gate rejects it.
func (i *inspection) print(c *call, m *model.Model, head string, v ordered.Value) (err error) {
	if m.Rejection == nil {
		if err := exhausted(m.Judged.Compiled); err != nil {
			return err
		}
	}
	if i.json {
		_, err = fmt.Fprintf(c.stdout, "%s\n", v.Append(nil, ordered.Pretty))
	} else {
		err = c.printLines(head + m.String())
	}
	if err == nil && m.Rejection != nil {
		err = errFailed
	}
	return err
}

// maxLine bounds a line with a stranger's text, in bytes.
const maxLine = 4 << 10

// printLines prints a text whose lines hold a stranger's, and cuts the long ones.
func (c *call) printLines(text string) error {
	for line := range strings.Lines(text) {
		if _, err := fmt.Fprintln(c.stdout, source.Cut(strings.TrimSuffix(line, "\n"),
			maxLine)); err != nil {
			return err
		}
	}
	return nil
}

// printKeys prints every key and tensor of a file.
func (i *inspection) printKeys(c *call) error {
	r, f, err := gguf.OpenFile(c.args[0])
	if err != nil {
		return err
	}
	defer r.Close()
	_, err = io.WriteString(c.stdout, f.String())
	return err
}

// errorValue is an error as JSON, with its place in the file where it has one.
func errorValue(file string, err error) ordered.Value {
	v := ordered.Pairs("type", "error", "message", source.Cut(err.Error(), maxError), "file", file)
	var at *gguf.Error
	if errors.As(err, &at) {
		v = v.With("offset", ordered.Int(int(at.Off)))
	}
	return v
}
