//go:build !llama || !cgo

package llama

import "context"

// Model is a loaded model.
type Model struct{}

// Context is a sequence that is being written.
type Context struct{}

// Available reports whether the library is in this binary.
func Available() bool { return false }

// Version returns the library's version; "" where there is none.
func Version() string { return "" }

// Devices returns the devices with which the library can compute.
func Devices() []Device { return nil }

// SetLog routes the library's log; nil discards it.
func SetLog(func(LogLevel, string)) {}

// Load returns [ErrNotBuilt].
func Load(context.Context, string, ModelOptions) (*Model, error) { return nil, ErrNotBuilt }

// Close does nothing.
func (*Model) Close() error { return nil }

// Info returns nothing.
func (*Model) Info() ModelInfo { return ModelInfo{} }

// Tokenize returns [ErrNotBuilt].
func (*Model) Tokenize(string, bool) ([]Token, error) { return nil, ErrNotBuilt }

// Piece returns nothing.
func (*Model) Piece(Token) []byte { return nil }

// IsEnd returns false.
func (*Model) IsEnd(Token) bool { return false }

// Accepts returns [ErrNotBuilt].
func (*Model) Accepts(Grammar, string) (bool, error) { return false, ErrNotBuilt }

// NewContext returns [ErrNotBuilt].
func (*Model) NewContext(ContextOptions) (*Context, error) { return nil, ErrNotBuilt }

// Close does nothing.
func (*Context) Close() error { return nil }

// Size returns 0.
func (*Context) Size() int { return 0 }

// Generate returns [ErrNotBuilt].
func (*Context) Generate(context.Context, Request, func(Token, []byte) error) (Result, error) {
	return Result{}, ErrNotBuilt
}
