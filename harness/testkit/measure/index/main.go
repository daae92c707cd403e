// Command index writes the index of the records of known faults, and signs it.
//
//	go run ./harness/testkit/measure/index -key PRIVATE.pem FOLDER
//
// FOLDER gets index.json and its signature, which `assay audit --update` takes together.
package main

import (
	"bytes"
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"

	"github.com/goassay/assay/corpus"
	"github.com/goassay/assay/harness/hub/advisory"
	"github.com/goassay/assay/harness/hub/audit"
	"github.com/goassay/assay/harness/report/safefile"
)

func main() {
	key := flag.String("key", "", "the private key in PEM, in this `FILE`")
	flag.Parse()
	if err := run(*key, flag.Arg(0)); err != nil {
		fmt.Fprintln(os.Stderr, "index:", err)
		os.Exit(1)
	}
}

func run(key, folder string) error {
	if key == "" || folder == "" {
		return errors.New("expected -key PRIVATE.pem and a folder; " +
			"`openssl genpkey -algorithm ed25519 -out PRIVATE.pem` makes a key")
	}
	private, err := os.ReadFile(key)
	if err != nil {
		return err
	}
	records, err := advisory.Load(corpus.FS, audit.Folder)
	if err != nil {
		return err
	}
	var text bytes.Buffer
	if err := advisory.NewIndex(records).Write(&text); err != nil {
		return err
	}
	signature, err := advisory.Sign(text.Bytes(), private)
	if err != nil {
		return fmt.Errorf("%s: %w", key, err)
	}
	name := filepath.Join(folder, "index.json")
	if err := os.MkdirAll(folder, 0o777); err != nil {
		return err
	}
	if err := safefile.Write(name, safefile.Text(text.String())); err != nil {
		return err
	}
	return safefile.Write(name+audit.Signature, safefile.Text(string(signature)))
}
