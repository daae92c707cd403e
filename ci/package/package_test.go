package main

import (
	"archive/tar"
	"archive/zip"
	"bytes"
	"compress/gzip"
	"crypto/ecdsa"
	"crypto/sha256"
	"crypto/x509"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// packed packs a few bytes in place of the command, and returns the files of the release. The lists
// of modules are those of this test, which a linker made.
func packed(t *testing.T) map[string][]byte {
	t.Helper()
	r := &release{version: "0.1.0-dev", root: "../..", out: t.TempDir()}
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	var image []built
	for _, p := range platforms {
		b := built{platform: p, edition: usual, text: []byte("a binary"),
			library: []byte("a library"), shared: []file{{"LICENSE", []byte("licence"), 0o644}}}
		list := built{platform: p, edition: usual, path: self}
		if err := errors.Join(r.archive(b), r.libraryArchive(b), r.wheel(b),
			r.npmBinary(b), r.components(list)); err != nil {
			t.Fatal(err)
		}
		b.edition, list.edition = cloud, cloud
		if err := errors.Join(r.archive(b), r.components(list)); err != nil {
			t.Fatal(err)
		}
		b.edition = usual
		if p.os == "linux" {
			image = append(image, b)
		}
	}
	if err := errors.Join(r.npmLauncher(), r.image(image), r.sign("")); err != nil {
		t.Fatal(err)
	}
	entries, err := os.ReadDir(r.out)
	if err != nil {
		t.Fatal(err)
	}
	files := map[string][]byte{}
	for _, entry := range entries {
		if files[entry.Name()], err = os.ReadFile(filepath.Join(r.out, entry.Name())); err != nil {
			t.Fatal(err)
		}
	}
	return files
}

func TestRelease(t *testing.T) {
	files, again := packed(t), packed(t)
	for name, text := range files {
		if name != "checksums.txt.sig" && name != "assay.pub" && !bytes.Equal(text, again[name]) {
			t.Errorf("%s has other bytes the second time", name)
		}
		switch {
		case strings.HasSuffix(name, ".whl"):
			checkWheel(t, name, text)
		case strings.HasSuffix(name, "_image.tar"):
			checkImage(t, text)
		case strings.HasSuffix(name, ".tar.gz") || strings.HasSuffix(name, ".tgz"):
			content := untarred(t, gunzipped(t, text))
			folder := strings.TrimSuffix(name, ".tar.gz")
			if strings.HasPrefix(name, "libassay_") && len(content[folder+"/assay.h"]) == 0 {
				t.Errorf("%s has no header", name)
			}
		}
	}
	// Six archives, wheels, npm packages and lists; six archives and lists for buckets; six
	// archives of the library; the launcher, the image, and the signature.
	if len(files) != 6*4+6*2+6+2+3 {
		t.Errorf("%d files", len(files))
	}
	checkSums(t, files)
	launcher := untarred(t, gunzipped(t, files["assay-chat-0.1.0-dev.tgz"]))
	var m manifest
	if err := json.Unmarshal(launcher["package/package.json"], &m); err != nil ||
		len(m.Dependencies) != len(platforms) || m.Bin["assay-chat"] == "" {
		t.Errorf("%v: %s", err, launcher["package/package.json"])
	}
}

// checkWheel holds a wheel to PEP 427: RECORD has every file with its hash.
func checkWheel(t *testing.T, name string, text []byte) {
	t.Helper()
	z, err := zip.NewReader(bytes.NewReader(text), int64(len(text)))
	if err != nil {
		t.Fatal(err)
	}
	var record string
	sums := map[string]bool{}
	for _, f := range z.File {
		in, err := f.Open()
		if err != nil {
			t.Fatal(err)
		}
		content, err := io.ReadAll(in)
		if err != nil {
			t.Fatal(err)
		}
		if strings.HasSuffix(f.Name, "/RECORD") {
			record = string(content)
			continue
		}
		if strings.HasPrefix(f.Name, "assay_chat/assay") && f.Mode().Perm() != 0o755 {
			t.Errorf("%s: the mode of %s is %v", name, f.Name, f.Mode())
		}
		sum := sha256.Sum256(content)
		sums[fmt.Sprintf("%s,sha256=%s,%d", f.Name, base64.RawURLEncoding.EncodeToString(sum[:]),
			len(content))] = true
	}
	recorded := map[string]bool{}
	for line := range strings.Lines(record) {
		if line = strings.TrimSpace(line); !strings.HasSuffix(line, ",,") {
			recorded[line] = true
		}
	}
	if !maps.Equal(sums, recorded) {
		t.Errorf("%s: RECORD is\n%s\nwant %v", name, record, sums)
	}
}

// checkImage follows the image's layout from its index to each layer, and holds every blob to its
// digest.
func checkImage(t *testing.T, text []byte) {
	t.Helper()
	files := untarred(t, text)
	follow := func(d descriptor) map[string]json.RawMessage {
		blob := files["blobs/sha256/"+strings.TrimPrefix(d.Digest, "sha256:")]
		if sum := sha256.Sum256(blob); "sha256:"+hex.EncodeToString(sum[:]) != d.Digest ||
			len(blob) != d.Size {
			t.Fatalf("the blob of %+v has %d bytes and the digest %x", d, len(blob), sum)
		}
		var fields map[string]json.RawMessage
		if strings.HasSuffix(d.MediaType, "+json") {
			if err := json.Unmarshal(blob, &fields); err != nil {
				t.Fatal(err)
			}
		}
		return fields
	}
	manifests := func(list json.RawMessage) (all []descriptor) {
		if err := json.Unmarshal(list, &all); err != nil {
			t.Fatal(err)
		}
		return all
	}
	var top map[string]json.RawMessage
	if err := json.Unmarshal(files["index.json"], &top); err != nil {
		t.Fatal(err)
	}
	n := 0
	for _, index := range manifests(top["manifests"]) {
		for _, m := range manifests(follow(index)["manifests"]) {
			n++
			manifest := follow(m)
			var config descriptor
			if err := json.Unmarshal(manifest["config"], &config); err != nil {
				t.Fatal(err)
			}
			if !bytes.Contains(follow(config)["config"], []byte(`"User":"65532:65532"`)) {
				t.Error("the image runs as root")
			}
			layer := manifests(manifest["layers"])[0]
			follow(layer)
			root := untarred(t, gunzipped(t,
				files["blobs/sha256/"+strings.TrimPrefix(layer.Digest, "sha256:")]))
			if len(root["usr/bin/assay"]) == 0 ||
				len(root["etc/ssl/certs/ca-certificates.crt"]) == 0 {
				t.Errorf("the root file system has no command, or no certificates")
			}
		}
	}
	if n != 2 {
		t.Errorf("the image is for %d platforms", n)
	}
}

// checkSums verifies the signature of the checksums, and these.
func checkSums(t *testing.T, files map[string][]byte) {
	t.Helper()
	sums := files["checksums.txt"]
	block, _ := pem.Decode(files["assay.pub"])
	public, err := x509.ParsePKIXPublicKey(block.Bytes)
	if err != nil {
		t.Fatal(err)
	}
	encoded := strings.TrimSpace(string(files["checksums.txt.sig"]))
	signature, err := base64.StdEncoding.DecodeString(encoded)
	if err != nil {
		t.Fatal(err)
	}
	if digest := sha256.Sum256(sums); !ecdsa.VerifyASN1(public.(*ecdsa.PublicKey), digest[:],
		signature) {
		t.Error("the signature is wrong")
	}
	n := 0
	for line := range strings.Lines(string(sums)) {
		sum, name, _ := strings.Cut(strings.TrimSpace(line), "  ")
		n++
		if got := sha256.Sum256(files[name]); hex.EncodeToString(got[:]) != sum {
			t.Errorf("the checksum of %q is wrong", name)
		}
	}
	if n != len(files)-3 {
		t.Errorf("%d checksums of %d files", n, len(files))
	}
}

func gunzipped(t *testing.T, text []byte) []byte {
	t.Helper()
	r, err := gzip.NewReader(bytes.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	text, err = io.ReadAll(r)
	if err != nil {
		t.Fatal(err)
	}
	return text
}

func untarred(t *testing.T, text []byte) map[string][]byte {
	t.Helper()
	files := map[string][]byte{}
	for r := tar.NewReader(bytes.NewReader(text)); ; {
		h, err := r.Next()
		if errors.Is(err, io.EOF) {
			return files
		}
		if err != nil {
			t.Fatal(err)
		}
		if files[h.Name], err = io.ReadAll(r); err != nil {
			t.Fatal(err)
		}
	}
}

func TestArguments(t *testing.T) {
	for _, c := range []struct{ args, want string }{
		{"", "expected one such as v0.1.0"},
		{"-version 0.1 -out x", "expected one such as v0.1.0"},
		{"-version v0.1.0", "-out names the folder"},
		{"-version v0.1.0 -out x -platforms plan9/amd64", `no release for "plan9/amd64"`},
	} {
		if err := run(strings.Fields(c.args)); err == nil ||
			!strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want %s", c.args, err, c.want)
		}
	}
	if _, err := signer("package_test.go"); err == nil ||
		!strings.Contains(err.Error(), "expected a private key in PEM") {
		t.Errorf("a file that is no key: %v", err)
	}
}

func TestLicences(t *testing.T) {
	text, err := os.ReadFile("../../NOTICE")
	if err != nil {
		t.Fatal(err)
	}
	all := licencesOf(string(text))
	if all["github.com/spf13/cobra"] != "Apache-2.0" || all["gocloud.dev"] != "Apache-2.0" ||
		all["go.yaml.in/yaml/v3"] != "MIT AND Apache-2.0" {
		t.Errorf("%v", all)
	}
}

// TestOverlay demands that the command gets the large texts compressed, each as it is here.
func TestOverlay(t *testing.T) {
	r := &release{root: "../..", work: t.TempDir()}
	list, err := r.overlay()
	if err != nil {
		t.Fatal(err)
	}
	read := func(name string) []byte {
		t.Helper()
		text, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		return text
	}
	var overlay struct{ Replace map[string]string }
	if err := json.Unmarshal(read(list), &overlay); err != nil {
		t.Fatal(err)
	}
	root, err := filepath.Abs(r.root)
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"corpus/families.txt", "golden/own/hermes.golden",
		"harness/foreign/engines/published.jsonl"} {
		if overlay.Replace[filepath.Join(root, name)] == "" {
			t.Errorf("%s is embedded as it is", name)
		}
	}
	for name, packed := range overlay.Replace {
		if filepath.Ext(name) == ".go" || !bytes.Equal(gunzipped(t, read(packed)), read(name)) {
			t.Errorf("%s has another text in the command", name)
		}
	}
}
