package main

import (
	"os"
	"path/filepath"
	"runtime"
	"time"

	"github.com/goassay/assay/engine"
	"github.com/goassay/assay/harness/check/cache"
	"github.com/goassay/assay/harness/check/subject"
)

// openCache opens the store of what checks found, in the user's cache folder; one that keeps
// nothing where there is no such folder, where --no-cache is given, where the program cannot be
// told from another one, or for a look that writes files, compares with something else or fills a
// page.
func (k *checking) openCache() {
	dir := ""
	folder, err := os.UserCacheDir()
	anew := k.noCache || k.encoder != nil || k.since != nil || k.fix || k.diff ||
		k.output.html != ""
	if err == nil && !anew && k.identify() == nil {
		dir = filepath.Join(folder, "assay", "checks")
	}
	k.cache = cache.Open(dir, time.Now)
}

// identify notes what tells this program from another one.
func (k *checking) identify() error {
	program, err := os.Executable()
	if err != nil {
		return err
	}
	info, err := os.Stat(program)
	if err != nil {
		return err
	}
	k.program = []any{version(), runtime.Version(), program, info.Size(), info.ModTime().UnixNano()}
	return nil
}

// cached is the look at the templates of an argument, or what an earlier one has kept. That at a
// configuration is not kept: its neighbours have a say.
func (k *checking) cached(c *call, name string, all []subject.Source,
	o engine.Options) (checked, error) {
	key, err := k.key(c, all)
	if err != nil || name == "-" || filepath.Ext(name) == ".json" {
		return k.templates(c, name, all, o)
	}
	if e, ok := k.cache.Get(key); ok {
		return checked{results: e.Results, able: e.Conclusions, sources: all}, nil
	}
	one, err := k.templates(c, name, all, o)
	if err == nil && c.ctx.Err() == nil {
		k.cache.Put(key, cache.Entry{Results: one.results, Conclusions: one.able})
	}
	return one, err
}

// key is the key of the look at the templates of an argument.
func (k *checking) key(c *call, all []subject.Source) (cache.Key, error) {
	depends := append([]any{k.options.Only, k.options.Fallbacks, k.options.Accepted,
		k.options.Requests, k.options.Renderer != nil, k.seed, k.limits.Limits, k.limits.untrusted,
		k.tools, k.output.form(c), k.output.listed(), k.output.junit != "", k.output.sarif != ""},
		k.program...)
	for _, client := range k.clients {
		depends = append(depends, client.Name)
	}
	for _, src := range all {
		depends = append(depends, src.Source, src.File, src.Shadowed)
	}
	return cache.KeyOf(depends...)
}
