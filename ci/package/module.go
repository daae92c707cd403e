package main

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"time"

	"golang.org/x/mod/module"
	"golang.org/x/mod/zip"
)

// module writes the module as a module proxy serves it (https://go.dev/ref/mod#goproxy-protocol),
// as files under r.out, so that GOPROXY=file://... lets `go install` take it as it will take a
// release. The files are those of the last commit, as a tag would hold them.
func (r *release) module() error {
	version := "v" + r.version
	folder := filepath.Join(r.out, filepath.FromSlash(ownPath), "@v")
	if err := os.MkdirAll(folder, 0o777); err != nil {
		return err
	}
	requirements, err := r.read("go.mod")
	if err != nil {
		return err
	}
	clone := filepath.Join(r.work, "clone")
	if out, err := exec.Command("git", "clone", "--quiet", r.root,
		clone).CombinedOutput(); err != nil {
		return fmt.Errorf("git clone: %w\n%s", err, out)
	}
	var source bytes.Buffer
	m := module.Version{Path: ownPath, Version: version}
	if err := zip.CreateFromDir(&source, m, clone); err != nil {
		return fmt.Errorf("the module as an archive: %w", err)
	}
	info := fmt.Appendf(nil, `{"Version":%q,"Time":%q}`, version, epoch.Format(time.RFC3339))
	for name, text := range map[string][]byte{
		"list": []byte(version + "\n"), version + ".info": info,
		version + ".mod": requirements, version + ".zip": source.Bytes(),
	} {
		if err := os.WriteFile(filepath.Join(folder, name), text, 0o666); err != nil {
			return err
		}
	}
	return nil
}
