package cache_test

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/goassay/assay/harness/check/cache"
	"github.com/goassay/assay/harness/check/rule"
)

// TestStore keeps an entry, finds it under its key alone, and deletes it when nobody asks for it
// for thirty days.
func TestStore(t *testing.T) {
	day := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	dir := t.TempDir()
	s := cache.Open(dir, func() time.Time { return day })
	e := cache.Entry{Conclusions: []string{"tool-capable: yes"}, Results: []rule.Result{{
		Suite: "a.jinja", Name: "lost", Rule: "A001", Status: rule.Failed, Severity: rule.Error,
		Place: rule.Place{File: "a.jinja", Line: 2, Col: 3}, Text: "<lost>\nevidence"}}}
	one, err := cache.KeyOf("a", 1)
	other, err2 := cache.KeyOf("a", 2)
	if err != nil || err2 != nil || one == other {
		t.Fatalf("keys %x, %x: %v, %v", one, other, err, err2)
	}
	s.Put(one, e)
	if got, ok := s.Get(one); !ok || got.Results[0].Text != e.Results[0].Text ||
		got.Results[0].Status != rule.Failed || got.Conclusions[0] != e.Conclusions[0] {
		t.Errorf("the entry is %+v, %t", got, ok)
	}
	if got, ok := s.Get(other); ok {
		t.Errorf("under another key there is %+v", got)
	}
	for _, x := range []struct {
		after time.Duration
		kept  bool
	}{{0, true}, {20, true}, {25, true}, {60, false}} {
		day = day.Add(x.after * 24 * time.Hour)
		if x.kept {
			s.Get(one) // which asks for it
		}
		s.Trim()
		if _, ok := s.Get(one); ok != x.kept {
			t.Errorf("after %d days more it is kept: %t", x.after, ok)
		}
	}
}

// TestDamaged reads files that are no entries as none, and keeps nothing where there is no folder.
func TestDamaged(t *testing.T) {
	dir := t.TempDir()
	s := cache.Open(dir, time.Now)
	key, err := cache.KeyOf("a")
	if err != nil {
		t.Fatal(err)
	}
	s.Put(key, cache.Entry{})
	files, err := filepath.Glob(filepath.Join(dir, "*", "*"))
	if err != nil || len(files) != 1 {
		t.Fatalf("files %q, %v", files, err)
	}
	whole, err := os.ReadFile(files[0])
	if err != nil {
		t.Fatal(err)
	}
	for _, text := range [][]byte{nil, whole[:len(whole)/2], []byte("not zipped")} {
		if err := os.WriteFile(files[0], text, 0o666); err != nil {
			t.Fatal(err)
		}
		if e, ok := s.Get(key); ok {
			t.Errorf("%q is read as %+v", text, e)
		}
	}
	for _, dir := range []string{"", files[0]} {
		s := cache.Open(dir, time.Now)
		s.Put(key, cache.Entry{})
		s.Trim()
		if _, ok := s.Get(key); ok {
			t.Errorf("%q keeps an entry", dir)
		}
	}
}
