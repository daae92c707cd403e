package wire

import (
	"crypto/aes"
	"crypto/cipher"
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"strings"
)

// minKey is the least length of a key, in bytes.
const minKey = 32

// Sealer seals reasoning, so that a client can hand it back and can neither read nor alter it. It
// is safe for concurrent use where its source of randomness is.
type Sealer struct {
	aead   cipher.AEAD
	random io.Reader
}

// NewSealer returns a sealer with a key of at least 32 bytes, which all servers share that are to
// read each other's seals. The source of randomness is crypto/rand.Reader outside tests.
func NewSealer(key []byte, random io.Reader) (*Sealer, error) {
	if len(key) < minKey {
		return nil, fmt.Errorf("the key has %d bytes; expected at least %d", len(key), minKey)
	}
	sum := sha256.Sum256(append([]byte("assay reasoning seal, version 1\x00"), key...))
	block, _ := aes.NewCipher(sum[:]) // which takes any 32 bytes
	aead, err := cipher.NewGCM(block)
	if err != nil {
		return nil, err
	}
	return &Sealer{aead: aead, random: random}, nil
}

// errSeal is returned for a seal that is not one of this key's.
var errSeal = errors.New("it was altered, or sealed by a server with another key")

// maxSeal bounds a seal that is opened, in bytes.
const maxSeal = 16 << 20

// Seal returns the sealed form of a text, as base64 (AES-256-GCM, the nonce first).
func (s *Sealer) Seal(text string) (string, error) {
	nonce := make([]byte, s.aead.NonceSize(), s.aead.NonceSize()+len(text)+s.aead.Overhead())
	if _, err := io.ReadFull(s.random, nonce); err != nil {
		return "", err
	}
	return base64.StdEncoding.EncodeToString(s.aead.Seal(nonce, nonce, []byte(text), nil)), nil
}

// Open returns the text of a seal.
func (s *Sealer) Open(sealed string) (string, error) {
	if len(sealed) > maxSeal || strings.ContainsAny(sealed, "\r\n") { // which base64 skips
		return "", errSeal
	}
	raw, err := base64.StdEncoding.Strict().DecodeString(sealed)
	if err != nil || len(raw) < s.aead.NonceSize() {
		return "", errSeal
	}
	n := s.aead.NonceSize()
	text, err := s.aead.Open(nil, raw[:n], raw[n:], nil)
	if err != nil {
		return "", errSeal
	}
	return string(text), nil
}

// sealed returns the seal of a text; "" without a sealer, or without randomness.
func (s *Sealer) sealed(text string) string {
	if s == nil {
		return ""
	}
	sealed, err := s.Seal(text)
	if err != nil {
		return ""
	}
	return sealed
}
