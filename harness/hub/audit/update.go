package audit

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"syscall"

	"github.com/goassay/assay/corpus"
	"github.com/goassay/assay/harness/hub/advisory"
	"github.com/goassay/assay/harness/report/safefile"
)

// Signature is added to the name or address of an index for that of its signature.
const Signature = ".sig"

// Update takes a newer index of known faults from a file or an http address, and stores it for
// [Published]: whole or not at all, once its signature fits the public key, an Ed25519 key in PEM,
// and no younger one is there.
func Update(ctx context.Context, client *http.Client, from, stored string, key []byte) (
	*advisory.Index, error) {
	load := func(name string) ([]byte, error) {
		if strings.HasPrefix(name, "http://") || strings.HasPrefix(name, "https://") {
			return get(ctx, client, name)
		}
		return os.ReadFile(name)
	}
	text, err := load(from)
	if err != nil {
		return nil, err
	}
	signature, err := load(from + Signature)
	if err != nil {
		return nil, fmt.Errorf("an index comes with its signature: %w", err)
	}
	if err := advisory.Verify(text, signature, key); err != nil {
		return nil, fmt.Errorf("%s: %w; nothing was taken from it", from, err)
	}
	x, err := advisory.ReadIndex(text)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", from, err)
	}
	made, err := age(stored)
	if err != nil {
		return nil, err
	}
	if x.Made < made {
		return nil, fmt.Errorf("%s is of %s, and the one that is there is of %s; an older index "+
			"would forget faults, so that nothing was taken from it", from, x.Made, made)
	}
	if err := os.MkdirAll(filepath.Dir(stored), 0o777); err != nil {
		return nil, err
	}
	return x, safefile.Write(stored, safefile.Text(string(text)))
}

// age returns when the youngest record that is there was modified.
func age(stored string) (string, error) {
	records, err := advisory.Load(corpus.FS, Folder)
	if err != nil {
		return "", err
	}
	made := advisory.NewIndex(records).Made
	if x, err := read(stored); err == nil && x != nil { // a broken one is replaced
		made = max(made, x.Made)
	}
	return made, nil
}

// read reads the index that is stored; nil: there is none.
func read(stored string) (*advisory.Index, error) {
	text, err := os.ReadFile(stored)
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ENOTDIR) || stored == "" {
		return nil, nil
	} else if err != nil {
		return nil, err
	}
	x, err := advisory.ReadIndex(text)
	if err != nil {
		err = fmt.Errorf("%s: %w; remove the file, or take another with assay audit --update",
			stored, err)
	}
	return x, err
}
