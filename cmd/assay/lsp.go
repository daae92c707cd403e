package main

import (
	"github.com/goassay/assay/harness/diff/commit"
	"github.com/goassay/assay/harness/editor"
)

var lspCommand = command{
	group: judging, name: "lsp",
	short: "serve an editor that speaks the Language Server Protocol",
	long: `The editor starts the command and speaks with it on standard input and output. It shows the
findings of "assay check" while somebody writes, with the settings of assay.toml; offers the patches
of "assay fix"; says of a name what it may be, of a marker what it means and of a tag what it
writes; completes variables, filters, tests and methods; and renders a conversation. Documents are
Jinja files and the JSON files that hold templates. docs/configuration.md has the settings of VS
Code, Neovim, Helix, Zed and JetBrains.`,
	setup: func(flags *flagSet) func(*call) error {
		limits := limitFlag(flags, lookedAt)
		return func(c *call) error {
			judged, end := limits.judging()
			defer end()
			return editor.Serve(c.ctx, c.stdin, c.raw, editor.Options{Version: version(),
				Check: judged, Limits: limits.Limits,
				Base: func(rev string) (*editor.Base, error) {
					b, err := commit.Open(rev)
					if err != nil {
						return nil, err
					}
					return &editor.Base{Open: b.Source, Read: b.Read}, nil
				}})
		}
	},
}
