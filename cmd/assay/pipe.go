package main

import (
	"bufio"
	"errors"
	"io"

	"github.com/goassay/assay/engine/model/tokenizer"
	"github.com/goassay/assay/harness/check/subject"
	"github.com/goassay/assay/harness/foreign/target"
	"github.com/goassay/assay/harness/serve/pipe"
)

var pipeCommand = command{
	group: serving, name: "pipe",
	short: "answer requests of another program, one JSON object a line",
	long: `Requests come on standard input, answers leave on standard output in the same order, until
the input ends. A program in any language checks, compares and renders templates so, and reads model
outputs as they stream; the Python package does. docs/reference/protocol.md has the operations. A request that
cannot be answered gets an answer that says why, and the next one is read.`,
	setup: func(flags *flagSet) func(*call) error {
		limits := limitFlag(flags, lookedAt)
		return func(c *call) error {
			judged, end := limits.judging()
			defer end()
			s := pipe.New(c.ctx, pipe.Options{
				Version: version(),
				Open: func(name string) ([]subject.Source, error) {
					return subject.OpenAll(name, nil)
				},
				Find: findAll, Check: judged, Limits: limits.Limits, Tight: untrusted,
				Vocabulary: tokenizer.Vocabulary, Texts: tokenizer.Texts,
				Grammars: target.Grammars(), Objects: target.Objects(),
			})
			return answerLines(s, c.stdin, c.data())
		}
	},
}

// findAll names the contents of a folder, as the arguments of check do.
func findAll(dir string) ([]string, error) {
	found, err := subject.Find(dir)
	return append(found.Templates, found.Models...), err
}

// answerLines answers line by line.
func answerLines(s *pipe.Service, in io.Reader, out io.Writer) error {
	lines := bufio.NewReaderSize(in, 64<<10)
	for {
		line, err := readLine(lines)
		if len(line) > 0 {
			if _, err := out.Write(s.Answer(line)); err != nil {
				return err
			}
		}
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
	}
}

// readLine reads a line without its line feed. Of one that is too long it keeps a byte more than a
// request may have, so that it is refused.
func readLine(r *bufio.Reader) ([]byte, error) {
	var line []byte
	for {
		piece, err := r.ReadSlice('\n')
		if len(line) <= pipe.MaxRequest {
			line = append(line, piece...)
			line = line[:min(len(line), pipe.MaxRequest+1)]
		}
		if errors.Is(err, bufio.ErrBufferFull) {
			continue
		}
		if n := len(line); n > 0 && n <= pipe.MaxRequest && line[n-1] == '\n' {
			line = line[:n-1]
		}
		return line, err
	}
}
