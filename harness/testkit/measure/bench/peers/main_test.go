package main

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/goassay/assay/engine/ordered"
	"github.com/goassay/assay/harness/testkit/measure/bench"
)

// TestWorks does every work of ours and of gonja once: the works that the children are asked for
// must be there.
func TestWorks(t *testing.T) {
	in, err := bench.Load("")
	if err != nil {
		t.Fatal(err)
	}
	in.Templates = in.Templates[:4]
	renders, err := in.Renders()
	if err != nil {
		t.Fatal(err)
	}
	for _, w := range works(len(in.Templates), len(renders)) {
		for _, peer := range w.peers {
			if peer != ours && peer != withGonja {
				continue
			}
			work, err := serve(in, peer+" "+w.name)
			if err != nil {
				t.Fatalf("%s by %s: %v", w.name, peer, err)
			}
			_, op, err := work.Make()
			if err != nil {
				t.Fatalf("%s by %s: %v", w.name, peer, err)
			}
			op()
			if peer == ours && w.of > 0 && w.name != "analyse" && *work.Good != w.of {
				t.Errorf("%s: %s as wanted", w.name, w.good(*work.Good))
			}
		}
	}
	if _, err := serve(in, "assay dance"); err == nil {
		t.Error("a work that there is not was taken")
	}
}

// TestInput looks at the input of the other implementations.
func TestInput(t *testing.T) {
	in, err := bench.Load("")
	if err != nil {
		t.Fatal(err)
	}
	name := filepath.Join(t.TempDir(), "input.json")
	if err := write(in, name); err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	v, err := ordered.Parse(text)
	if err != nil {
		t.Fatal(err)
	}
	if n := len(v.At("templates").Items()); n != len(in.Templates) {
		t.Errorf("%d templates, expected %d", n, len(in.Templates))
	}
	for i, r := range v.At("renders").Items() {
		if r.At("vars", "messages").IsNull() || r.At("want").Text() == "" {
			t.Fatalf("prompt %d has no messages, or no text that is wanted", i)
		}
	}
	if len(v.At("request", "tools").Items()) == 0 || v.At("own").Text() == "" ||
		v.At("outputs", "content-512").Text() == "" {
		t.Error("the request, the template of the answers or the answers are missing")
	}
}
