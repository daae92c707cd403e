package bailout_test

import (
	"errors"
	"io/fs"
	"testing"

	"github.com/goassay/assay/engine/internal/bailout"
)

func attempt(fault any) (err error) {
	defer bailout.Catch[*fs.PathError](&err)
	if fault != nil {
		panic(fault)
	}
	return nil
}

func TestCatch(t *testing.T) {
	if err := attempt(nil); err != nil {
		t.Errorf("without a panic: %v", err)
	}
	fault := &fs.PathError{Op: "open", Path: "a", Err: fs.ErrNotExist}
	if err := attempt(fault); err != fault {
		t.Errorf("got %v, want %v", err, fault)
	}
	other := errors.New("another fault")
	defer func() {
		if got := recover(); got != other {
			t.Errorf("the panic went on with %v, want %v", got, other)
		}
	}()
	_ = attempt(other)
	t.Error("a panic with another error did not go on")
}
