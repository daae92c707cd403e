//go:build llama && cgo

package llama

// #include <stdint.h>
// #include <stdbool.h>
import "C"

import (
	"runtime/cgo"
	"strings"
	"sync"
)

// backend is the library's own state, of which a process has one: it is started once, and its log
// goes to one place.
var backend struct {
	start sync.Once

	mu      sync.Mutex
	handler func(LogLevel, string)
	level   LogLevel
	line    strings.Builder // of the log, until its end comes
	errors  []string        // lines of level error since [failures] was last called
}

// maxErrors bounds the lines that an error quotes.
const maxErrors = 8

//export assayLog
func assayLog(level C.int, text *C.char) {
	backend.mu.Lock()
	defer backend.mu.Unlock()
	b := &backend
	switch level { // of enum ggml_log_level; 5 goes on with the line before
	case 1:
		b.level = LogDebug
	case 0, 2:
		b.level = LogInfo
	case 3:
		b.level = LogWarning
	case 4:
		b.level = LogError
	}
	b.line.WriteString(C.GoString(text))
	rest := b.line.String()
	b.line.Reset()
	for {
		line, more, ok := strings.Cut(rest, "\n")
		if !ok {
			b.line.WriteString(rest)
			return
		}
		rest = more
		if b.level == LogError && len(b.errors) < maxErrors {
			b.errors = append(b.errors, line)
		}
		if b.handler != nil {
			b.handler(b.level, line)
		}
	}
}

// failures returns the errors that were logged since the last call.
func failures() []string {
	backend.mu.Lock()
	defer backend.mu.Unlock()
	lines := backend.errors
	backend.errors = nil
	return lines
}

//export assayProgress
func assayProgress(progress C.float, handle C.uintptr_t) C.bool {
	return C.bool(cgo.Handle(handle).Value().(func(float64) bool)(float64(progress)))
}
