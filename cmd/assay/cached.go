package main

import (
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"time"

	"github.com/goassay/assay/engine/model/hub"
	"github.com/goassay/assay/harness/check/cache"
	"github.com/goassay/assay/harness/check/subject"
	"github.com/goassay/assay/harness/hub/storage"
)

// openCache opens the store of what checks found, in the user's cache folder; one that keeps
// nothing where there is no such folder, or --no-cache is given.
func (k *checking) openCache() {
	dir := ""
	if folder, err := os.UserCacheDir(); err == nil && !k.noCache {
		dir = filepath.Join(folder, "assay", "checks")
	}
	k.cache = cache.Open(dir, time.Now)
}

// cached is the look at an argument, or what an earlier one has kept.
func (k *checking) cached(c *call, name string) (checked, error) {
	key, sources, ok := k.key(c, name)
	if !ok {
		return k.look(c, name)
	}
	if e, ok := k.cache.Get(key); ok {
		return checked{results: e.Results, able: e.Conclusions, sources: sources}, nil
	}
	one, err := k.look(c, name)
	if err == nil && c.ctx.Err() == nil {
		k.cache.Put(key, cache.Entry{Results: one.results, Conclusions: one.able})
	}
	return one, err
}

// keeps reports whether what is found in an argument may be kept. A look that writes files, that
// compares with something else or that fills a page is made anew, and so is one at a model or a
// configuration, whose neighbours have a say.
func (k *checking) keeps(name string) bool {
	anew := k.encoder != nil || k.since != nil || k.fix || k.diff || k.output.html != ""
	return !anew && name != "-" && !strings.HasPrefix(name, hub.Scheme) &&
		!storage.InBucket(name) && filepath.Ext(name) != ".json" && !subject.IsModel(name)
}

// key is the key of the look at a template file, and the templates in it; false where none is kept.
func (k *checking) key(c *call, name string) (key cache.Key, all []subject.Source, ok bool) {
	if !k.keeps(name) {
		return key, nil, false
	}
	all, err := c.templates(name)
	if err != nil {
		return key, nil, false // the look reports it
	}
	program, err := os.Executable()
	if err != nil {
		return key, nil, false
	}
	info, err := os.Stat(program)
	if err != nil {
		return key, nil, false
	}
	depends := []any{version(), runtime.Version(), program, info.Size(),
		info.ModTime().UnixNano(), k.options.Only, k.options.Fallbacks, k.options.Accepted,
		k.options.Requests, k.options.Renderer != nil, k.seed, k.limits.Limits, k.limits.untrusted,
		k.tools, k.output.form(c), k.output.listed(), k.output.junit != "", k.output.sarif != ""}
	for _, client := range k.clients {
		depends = append(depends, client.Name)
	}
	for _, src := range all {
		depends = append(depends, src.Source, src.File, src.Shadowed)
	}
	key, err = cache.KeyOf(depends...)
	return key, all, err == nil
}
