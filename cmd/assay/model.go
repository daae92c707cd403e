package main

import (
	"errors"
	"flag"
	"fmt"
	"io"

	"github.com/goassay/assay/engine"
	"github.com/goassay/assay/engine/gguf"
	"github.com/goassay/assay/engine/ordered"
	"github.com/goassay/assay/harness/subject"
)

var inspectCommand = command{
	name: "inspect", args: "MODEL.gguf",
	short: "print what a model file says of itself, and the gate's verdict",
	long: `Only the file's header is read, so a model of any size takes milliseconds. Of a split model give the first part. The gate
judges the template named tool_use where there is one, else the default one. Exit status 1 says that it rejects the model,
2 that the file cannot be read; with --json that is an object of type "error".`,
	setup: func(flags *flag.FlagSet) func(*call) error {
		s := stepFlags(flags)
		keys := flags.Bool("keys", false, "print every key and tensor instead")
		return func(c *call) error {
			if err := c.want(1, 1, "a model file"); err != nil {
				return err
			}
			err := s.inspect(c, *keys)
			if err != nil && !errors.Is(err, errFailed) && s.json {
				fmt.Fprintf(c.stdout, "%s\n", errorValue(c.args[0], err).Append(nil, ordered.Pretty))
			}
			return err
		}
	},
}

func (s *step) inspect(c *call, keys bool) error {
	if keys {
		return s.keys(c)
	}
	m, err := engine.InspectFile(c.args[0], engine.Options{Now: subject.Now})
	if err != nil {
		return err
	}
	if s.json {
		_, err = fmt.Fprintf(c.stdout, "%s\n", m.Value().With("file", ordered.Str(c.args[0])).Append(nil, ordered.Pretty))
	} else {
		_, err = io.WriteString(c.stdout, m.String())
	}
	if err == nil && m.Rejection != nil {
		err = errFailed
	}
	return err
}

// keys prints every key and tensor of a file.
func (s *step) keys(c *call) error {
	if s.json {
		return errors.New("--keys prints text only")
	}
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
	v := ordered.ObjectOf(
		ordered.Member{Key: "type", Value: ordered.Str("error")},
		ordered.Member{Key: "message", Value: ordered.Str(err.Error())},
		ordered.Member{Key: "file", Value: ordered.Str(file)})
	var at *gguf.Error
	if errors.As(err, &at) {
		v = v.With("offset", ordered.Int(int(at.Off)))
	}
	return v
}
