package upstream

import (
	"sync"

	"github.com/goassay/assay/engine/codegen"
)

// The bounds of the forms that are kept: their number, which is that of the plans that a template
// keeps, and their bytes together. Beyond either all are forgotten, and the current ones come back.
const (
	maxForms     = 64
	maxFormBytes = 64 << 20
)

// forms keeps the grammars of answers in the upstream's form. An [engine.Plan]'s output is the same
// value for all requests with the same tools, and making the form takes longer than all else that
// is done for a request.
type forms struct {
	mu    sync.Mutex
	made  map[*codegen.Output]func() ([]byte, error) // each makes its form once
	bytes int
}

// of returns the form of an output, making it if need be. Requests that come at once and ask for
// the same wait for one of them. The form is never changed afterwards; an error is not kept.
func (f *forms) of(out *codegen.Output, form func() ([]byte, error)) ([]byte, error) {
	f.mu.Lock()
	made := f.made[out]
	if made == nil {
		if f.made == nil || len(f.made) >= maxForms {
			f.forget()
		}
		made = sync.OnceValues(func() ([]byte, error) {
			text, err := form()
			f.mu.Lock()
			defer f.mu.Unlock()
			switch f.bytes += len(text); {
			case f.bytes > maxFormBytes:
				f.forget()
			case err != nil:
				delete(f.made, out)
			}
			return text, err
		})
		f.made[out] = made
	}
	f.mu.Unlock()
	return made()
}

// forget forgets all forms; the caller holds the lock.
func (f *forms) forget() {
	f.made, f.bytes = map[*codegen.Output]func() ([]byte, error){}, 0
}
