package live

import (
	"bytes"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"unicode/utf8"

	"golang.org/x/tools/txtar"

	"github.com/goassay/assay/engine/llama"
	"github.com/goassay/assay/engine/ordered"
	"github.com/goassay/assay/harness/report/safefile"
)

// Provenance says where recorded outputs come from.
type Provenance struct {
	Model    string // the file's name
	SHA256   string // of the file, in hex
	FileType string // the quantisation
	Version  string // of llama.cpp
	Device   string
	Sampling llama.Sampling
	Date     string // as the caller gives it
}

// String returns the provenance as the comment lines of a case.
func (p Provenance) String() string {
	sampler := "greedy"
	if s := p.Sampling; s.Temperature > 0 {
		sampler = fmt.Sprintf("temperature %g, top-k %d, top-p %g, "+
			"min-p %g, seed %d", s.Temperature, s.TopK, s.TopP, s.MinP, s.Seed)
	}
	return fmt.Sprintf("# model: %s (%s), SHA-256 %s\n# recorded: llama.cpp %s "+
		"on %s, %s, %s\n", p.Model, p.FileType, p.SHA256, p.Version, p.Device, sampler, p.Date)
}

// FileSHA256 returns the SHA-256 of a file, in hex.
func FileSHA256(path string) (string, error) {
	f, err := safefile.Open(path)
	if err != nil {
		return "", err
	}
	defer f.Close()
	h := sha256.New()
	if _, err := io.Copy(h, f); err != nil {
		return "", err
	}
	return fmt.Sprintf("%x", h.Sum(nil)), nil
}

// ErrRecorded is returned for a case that is there already.
var ErrRecorded = errors.New("the case is there already, and is not overwritten")

// Record writes a run as a case of the corpus: dir/TEMPLATE/live_SCENARIO.txtar. The case gets its
// name when it is whole, so that an interrupted run leaves none that is half written. Runs that
// failed, were cut off or are not UTF-8 are not recorded: ok is false.
func (o *Outcome) Record(dir string, p Provenance) (ok bool, err error) {
	if len(o.Faults) > 0 || o.Cut || o.Output == "" || !utf8.ValidString(o.Output) {
		return false, nil
	}
	folder := filepath.Join(dir, o.Template)
	if err := os.MkdirAll(folder, 0o777); err != nil {
		return false, err
	}
	path := filepath.Join(folder, "live_"+strings.ReplaceAll(o.Scenario, "-", "_")+".txtar")
	f, err := os.CreateTemp(folder, ".recording-*")
	if err != nil {
		return false, err
	}
	defer os.Remove(f.Name())
	_, err = f.Write(o.archive(p))
	if closed := f.Close(); err == nil {
		err = closed
	}
	if err != nil {
		return false, err
	}
	// a link, unlike a rename, replaces nothing
	if err := os.Link(f.Name(), path); errors.Is(err, fs.ErrExist) {
		return false, fmt.Errorf("%s: %w", path, ErrRecorded)
	} else if err != nil {
		return false, err
	}
	return true, nil
}

func (o *Outcome) archive(p Provenance) []byte {
	var b bytes.Buffer
	fmt.Fprintf(&b, "# Recorded: %s.\n%stemplate %s\nrequest request.json\nparse output.txt "+
		"message.json\nstream output.txt message.json\n",
		o.Scenario, p, o.Template)
	if o.armed && o.Result.End == llama.EndToken {
		b.WriteString("accept output.txt\n")
	}
	return txtar.Format(&txtar.Archive{Comment: b.Bytes(), Files: []txtar.File{
		{Name: "request.json", Data: append(o.Request.Append(nil, ordered.Pretty), '\n')},
		{Name: "output.txt", Data: []byte(o.Output + "\n")},
		{Name: "message.json", Data: append(o.Message.Value().Append(nil, ordered.Pretty), '\n')},
	}})
}
