package main

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/sha256"
	"crypto/x509"
	"encoding/base64"
	"encoding/pem"
	"errors"
	"fmt"
	"os"
	"strings"
)

// sign writes checksums.txt, which sha256sum checks, its signature checksums.txt.sig (ECDSA P-256
// over SHA-256, DER, base64) and the public key assay.pub, as `openssl dgst -verify` and `cosign
// verify-blob --key` take them.
func (r *release) sign(keyFile string) error {
	files, err := filesOf(os.DirFS(r.out), 0o644, "*")
	if err != nil {
		return err
	}
	var sums strings.Builder
	for _, f := range files {
		fmt.Fprintf(&sums, "%x  %s\n", sha256.Sum256(f.text), f.name)
	}
	key, err := signer(keyFile)
	if err != nil {
		return err
	}
	digest := sha256.Sum256([]byte(sums.String()))
	signature, err := ecdsa.SignASN1(rand.Reader, key, digest[:])
	if err != nil {
		return err
	}
	public, err := x509.MarshalPKIXPublicKey(&key.PublicKey)
	if err != nil {
		return err
	}
	return errors.Join(
		r.write("checksums.txt", []byte(sums.String())),
		r.write("checksums.txt.sig", []byte(base64.StdEncoding.EncodeToString(signature)+"\n")),
		r.write("assay.pub", pem.EncodeToMemory(&pem.Block{Type: "PUBLIC KEY", Bytes: public})))
}

// signer reads the private key, or makes one that nobody will see again.
func signer(file string) (*ecdsa.PrivateKey, error) {
	if file == "" {
		return ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	}
	text, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	block, _ := pem.Decode(text)
	if block == nil {
		return nil, fmt.Errorf("%s: expected a private key in PEM", file)
	}
	any, err := x509.ParsePKCS8PrivateKey(block.Bytes)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", file, err)
	}
	key, ok := any.(*ecdsa.PrivateKey)
	if !ok || key.Curve != elliptic.P256() {
		return nil, fmt.Errorf("%s: expected an ECDSA key on P-256; `openssl genpkey -algorithm "+
			"EC -pkeyopt ec_paramgen_curve:P-256` makes one", file)
	}
	return key, nil
}
