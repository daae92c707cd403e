//go:build js && wasm

// Command page is the engine of the page in a browser: package service, compiled to WebAssembly, in
// a worker. It gives the worker one function, assay, which takes a request in JSON and returns its
// answer (docs/reference/protocol.md). It reads no file and asks no server.
package main

import (
	"context"
	"syscall/js"

	"github.com/goassay/assay/harness/check"
	"github.com/goassay/assay/harness/check/subject"
	"github.com/goassay/assay/harness/serve/pipe"
)

func main() {
	s := pipe.New(context.Background(), pipe.Options{Version: version,
		Check: check.Options{Requests: true}, Limits: subject.LookedAt, Tight: subject.LookedAt})
	js.Global().Set("assay", js.FuncOf(func(_ js.Value, args []js.Value) any {
		return string(s.Answer([]byte(args[0].String())))
	}))
	js.Global().Call("assayReady")
	select {}
}

// version is that of the release, which the linker sets.
var version = "devel"
