package main

import (
	"os"
	"path/filepath"
	"runtime"
	"time"

	"github.com/goassay/assay/harness/check/cache"
	"github.com/goassay/assay/harness/check/subject"
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

// keeps reports whether what is found in an argument may be kept: a look that writes files, that
// compares with a commit or that fills a page is made anew.
func (k *checking) keeps(name string) bool {
	return name != "-" && k.encoder == nil && k.since == nil && !k.fix && !k.diff &&
		k.output.html == ""
}

// key is the key of the look at the templates of a file; false where none can be made.
func (k *checking) key(c *call, sources []subject.Source) (cache.Key, bool) {
	program, err := os.Executable()
	if err != nil {
		return cache.Key{}, false
	}
	info, err := os.Stat(program)
	if err != nil {
		return cache.Key{}, false
	}
	depends := []any{version(), runtime.Version(), program, info.Size(),
		info.ModTime().UnixNano(), k.options.Only, k.options.Fallbacks, k.options.Accepted,
		k.options.Requests, k.options.Renderer != nil, k.seed, k.limits.Limits, k.limits.untrusted,
		k.tools, k.output.form(c), k.output.listed(), k.output.junit != "", k.output.sarif != ""}
	for _, client := range k.clients {
		depends = append(depends, client.Name)
	}
	for _, src := range sources {
		depends = append(depends, src.Source, src.File, src.Shadowed)
	}
	key, err := cache.KeyOf(depends...)
	return key, err == nil
}
