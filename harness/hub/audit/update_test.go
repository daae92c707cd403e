package audit_test

import (
	"bytes"
	"crypto/ed25519"
	"crypto/x509"
	"encoding/pem"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/goassay/assay/engine"
	"github.com/goassay/assay/harness/check/subject"
	"github.com/goassay/assay/harness/hub/advisory"
	"github.com/goassay/assay/harness/hub/audit"
)

// keys makes a pair of keys, the public one in PEM.
func keys(t *testing.T) (public []byte, private ed25519.PrivateKey) {
	t.Helper()
	pub, priv, err := ed25519.GenerateKey(nil)
	if err != nil {
		t.Fatal(err)
	}
	a, err := x509.MarshalPKIXPublicKey(pub)
	if err != nil {
		t.Fatal(err)
	}
	return pem.EncodeToMemory(&pem.Block{Type: "PUBLIC KEY", Bytes: a}), priv
}

// younger is an index of the published records with one more, and without the first, which was
// withdrawn in it.
func younger(t *testing.T, modified string) []byte {
	t.Helper()
	there, err := audit.Published("")
	if err != nil {
		t.Fatal(err)
	}
	one := *book(t).Records[0]
	one.Modified = modified
	gone := *there.Records[0]
	gone.Withdrawn = modified
	records := append([]*advisory.Record{&gone, &one}, there.Records[1:]...)
	var text bytes.Buffer
	if err := advisory.NewIndex(records).Write(&text); err != nil {
		t.Fatal(err)
	}
	return text.Bytes()
}

// TestUpdate takes a signed index from a file and from an address, and looks a template up by it.
func TestUpdate(t *testing.T) {
	t.Parallel()
	public, private := keys(t)
	text := younger(t, "2999-01-01T00:00:00Z")
	signature := ed25519.Sign(private, text)
	dir := t.TempDir()
	file := write(t, string(text), dir, "index.json")
	write(t, string(signature), dir, "index.json.sig")
	server := httptest.NewServer(http.FileServer(http.Dir(dir)))
	defer server.Close()

	for _, from := range []string{file, server.URL + "/index.json"} {
		stored := filepath.Join(t.TempDir(), "assay", "advisories.json")
		x, err := audit.Update(t.Context(), server.Client(), from, stored, public)
		if err != nil || len(x.Records) < 100 {
			t.Fatalf("%s: %v", from, err)
		}
		b, err := audit.Published(stored)
		if err != nil {
			t.Fatal(err)
		}
		known, err := b.Matches(t.Context(), subject.New("t", faulty), engine.Limits{})
		if err != nil || len(known) != 1 || known[0].How != audit.ByText {
			t.Fatalf("%s: %v (%v)", from, known, err)
		}
		said := known[0].Result(subject.New("t", faulty)).Text
		if !strings.Contains(said, "Null is printed.") || strings.Contains(said, "sees") {
			t.Errorf("it says %q", said)
		}
		if b.Records[0].ID == "x_ASSAY-2026-0001" {
			t.Error("a record that was withdrawn is still there")
		}
		edited := subject.New("t", "{# ours #}"+faulty)
		if known, err = b.Matches(t.Context(), edited, engine.Limits{}); err != nil ||
			known != nil {
			t.Errorf("a record without witnesses names %v (%v)", known, err)
		}
		for _, r := range b.Records[1:] { // the others are there in full
			if r.Details == "" && r.ID != "x_ASSAY-2026-9001" {
				t.Errorf("%s lost its details", r.ID)
			}
		}
		if _, err := audit.Update(t.Context(), server.Client(), from, stored, public); err != nil {
			t.Errorf("the same index once more: %v", err)
		}
	}
}

// TestRefusals gives what is no signed and newer index: nothing is stored, and what was stays.
func TestRefusals(t *testing.T) {
	t.Parallel()
	public, private := keys(t)
	other, _ := keys(t)
	der, err := x509.MarshalPKCS8PrivateKey(private)
	if err != nil {
		t.Fatal(err)
	}
	text := younger(t, "2999-01-01T00:00:00Z")
	for _, test := range []struct {
		name           string
		text, key      []byte
		sign, truncate func([]byte) []byte
		want           string
	}{
		{name: "another key", text: text, key: other, want: "the signature is another one's"},
		{name: "no key", text: text, key: []byte("x"), want: "the key is no PEM file"},
		{name: "a private key", text: text,
			key:  pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: der}),
			want: "no public key of Ed25519"},
		{name: "cut off", text: text, key: public, want: "changed or cut off",
			truncate: func(b []byte) []byte { return b[:len(b)/2] }},
		{name: "changed", text: text, key: public, want: "changed or cut off",
			truncate: func(b []byte) []byte { return bytes.ToUpper(b) }},
		{name: "a signature cut off", text: text, key: public, want: "has 10 bytes and not 64",
			sign: func(b []byte) []byte { return b[:10] }},
		{name: "empty", key: public, want: "no index of known faults"},
		{name: "no index", text: []byte(`{"version": 2}`), key: public, want: "form 1, but 2"},
		{name: "incomplete", key: public, want: "a record is incomplete",
			text: []byte(`{"version": 1, "made": "2999", "records": [{}]}`)},
		{name: "old", key: public, want: "an older index would forget faults",
			text: []byte(`{"version": 1, "made": "2001-01-01T00:00:00Z", "records": []}`)},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			signature := ed25519.Sign(private, test.text)
			if test.sign != nil {
				signature = test.sign(signature)
			}
			if test.truncate != nil {
				test.text = test.truncate(test.text)
			}
			dir := t.TempDir()
			file := write(t, string(test.text), dir, "index.json")
			write(t, string(signature), dir, "index.json.sig")
			stored := filepath.Join(t.TempDir(), "advisories.json")
			_, err := audit.Update(t.Context(), http.DefaultClient, file, stored, test.key)
			if err == nil || !strings.Contains(err.Error(), test.want) {
				t.Errorf("got %v, want %q", err, test.want)
			}
			if _, err := os.Stat(stored); err == nil {
				t.Error("it was stored")
			}
		})
	}
	t.Run("no signature", func(t *testing.T) {
		t.Parallel()
		file := write(t, string(text), t.TempDir(), "index.json")
		_, err := audit.Update(t.Context(), http.DefaultClient, file, "none", public)
		if err == nil || !strings.Contains(err.Error(), "comes with its signature") {
			t.Error(err)
		}
	})
	t.Run("a stored one that is broken", func(t *testing.T) {
		t.Parallel()
		stored := write(t, "{", t.TempDir(), "advisories.json")
		if _, err := audit.Published(stored); err == nil ||
			!strings.Contains(err.Error(), "remove the file") {
			t.Error(err)
		}
	})
}

// TestPublicKey verifies with the key that is published.
func TestPublicKey(t *testing.T) {
	t.Parallel()
	if err := advisory.Verify(nil, make([]byte, 64), advisory.PublicKey); err == nil ||
		!strings.Contains(err.Error(), "another one's") {
		t.Errorf("the published key: %v", err)
	}
}
