package advisory

import (
	"crypto/ed25519"
	"crypto/x509"
	_ "embed" // the public key
	"encoding/json"
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"slices"
)

// Index has the ids of records by the digests of their faulty texts, and the records in short:
// without witnesses, excerpts and details. A record that was withdrawn is not in it.
type Index struct {
	Version int                 `json:"version"` // 1
	Made    string              `json:"made"`    // when the youngest record was modified; it orders indexes
	IDs     map[string][]string `json:"sha256"`  // exact and canonical digests
	Records []*Record           `json:"records"`
}

// NewIndex returns the index of records.
func NewIndex(records []*Record) *Index {
	x := &Index{Version: 1, IDs: map[string][]string{}}
	for _, r := range records {
		x.Made = max(x.Made, r.Modified, r.Withdrawn)
		if r.Withdrawn != "" {
			continue
		}
		d := r.Template.Text
		x.IDs[d.Exact] = append(x.IDs[d.Exact], r.ID)
		if d.Canonical != d.Exact {
			x.IDs[d.Canonical] = append(x.IDs[d.Canonical], r.ID)
		}
		short := *r
		short.Published, short.Details, short.References = "", "", nil
		short.Affected = short.Affected[:1]
		short.Template.Excerpt, short.Template.Witnesses = Excerpt{}, nil
		x.Records = append(x.Records, &short)
	}
	return x
}

// Lookup returns the ids of the records of a text, and of those of one that differs from it in what
// loaders change alone.
func (x *Index) Lookup(text string) []string {
	d := DigestsOf(text)
	ids := slices.Concat(x.IDs[d.Exact], x.IDs[d.Canonical])
	slices.Sort(ids)
	return slices.Compact(ids)
}

// Write writes the index as JSON.
func (x *Index) Write(w io.Writer) error {
	e := json.NewEncoder(w)
	e.SetEscapeHTML(false)
	return e.Encode(x)
}

// ReadIndex reads an index that [Index.Write] wrote.
func ReadIndex(text []byte) (*Index, error) {
	x := new(Index)
	if err := json.Unmarshal(text, x); err != nil {
		return nil, fmt.Errorf("it is no index of known faults: %w", err)
	}
	if x.Version != 1 || x.Made == "" {
		return nil, fmt.Errorf("it is no index of known faults in form 1, but %d", x.Version)
	}
	for _, r := range x.Records {
		if r == nil || !r.Template.Text.valid() || r.Summary == "" || !r.located() {
			return nil, errors.New("it is no index of known faults: a record is incomplete")
		}
	}
	return x, nil
}

// Over returns the records that an index has, where it is younger than those that are there: an
// index is the whole list, so that a record that it leaves out was withdrawn. One that is there in
// full and is no older stays as it is.
func (x *Index) Over(there []*Record) []*Record {
	if x.Made <= NewIndex(there).Made {
		return there
	}
	full := map[string]*Record{}
	for _, r := range there {
		full[r.ID] = r
	}
	var all []*Record
	for _, r := range x.Records {
		if was := full[r.ID]; was != nil && was.Modified >= r.Modified {
			r = was
		}
		all = append(all, r)
	}
	return all
}

// PublicKey is the key that verifies the published index, in PEM.
//
//go:embed index.pub
var PublicKey []byte

// Verify reports, as nil, that whoever has the private half of a public key, an Ed25519 key in PEM,
// has signed a text.
func Verify(text, signature, key []byte) error {
	block, _ := pem.Decode(key)
	if block == nil {
		return errors.New("the key is no PEM file")
	}
	parsed, err := x509.ParsePKIXPublicKey(block.Bytes)
	public, ok := parsed.(ed25519.PublicKey)
	switch {
	case err != nil || !ok:
		return errors.New("the key is no public key of Ed25519; " +
			"`openssl pkey -in KEY -pubout` writes that of a private one")
	case len(signature) != ed25519.SignatureSize:
		return fmt.Errorf("the signature has %d bytes and not %d", len(signature),
			ed25519.SignatureSize)
	case !ed25519.Verify(public, text, signature):
		return errors.New("the signature is another one's, or the file was changed or cut off")
	}
	return nil
}
