package upstream

import (
	"errors"
	"sync"
	"testing"

	"github.com/goassay/assay/engine/codegen"
)

// TestForms makes a form once for all who ask at once, forgets what was wrong, and keeps within
// its bounds.
func TestForms(t *testing.T) {
	var f forms
	text := func(n int) func() ([]byte, error) {
		return func() ([]byte, error) { return make([]byte, n), nil }
	}
	var calls sync.Mutex
	count := 0
	out := new(codegen.Output)
	var wait sync.WaitGroup
	for range 32 {
		wait.Go(func() {
			f.of(out, func() ([]byte, error) {
				calls.Lock()
				defer calls.Unlock()
				count++
				return []byte("{}"), nil
			})
		})
	}
	wait.Wait()
	if count != 1 {
		t.Errorf("32 who asked at once had the form made %d times", count)
	}

	wrong, fails := new(codegen.Output), errors.New("fails")
	if _, err := f.of(wrong, func() ([]byte, error) { return nil, fails }); err != fails {
		t.Error(err)
	}
	if form, err := f.of(wrong, text(2)); err != nil || len(form) != 2 {
		t.Errorf("an error is kept: %q, %v", form, err)
	}

	for range 3 * maxForms {
		if f.of(new(codegen.Output), text(1)); len(f.made) > maxForms {
			t.Fatalf("%d forms are kept, at most %d are allowed", len(f.made), maxForms)
		}
	}
	for range 5 {
		if f.of(new(codegen.Output), text(maxFormBytes/4)); f.bytes > maxFormBytes {
			t.Fatalf("%d bytes are kept, at most %d are allowed", f.bytes, maxFormBytes)
		}
	}
}
