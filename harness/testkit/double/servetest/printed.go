package servetest

import (
	"bytes"
	"regexp"
	"sync"
)

// Printed collects the output of an assay serve that still runs.
type Printed struct {
	mu   sync.Mutex
	text bytes.Buffer
}

// Write implements [io.Writer].
func (p *Printed) Write(text []byte) (int, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.text.Write(text)
}

// String returns the output so far.
func (p *Printed) String() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.text.String()
}

var servedAt = regexp.MustCompile(`is served at (http://\S+)\n`)

// Address returns the address at which the server listens; "": it does not say so yet.
func (p *Printed) Address() string {
	if m := servedAt.FindStringSubmatch(p.String()); m != nil {
		return m[1]
	}
	return ""
}
