package main

import (
	"context"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"os"
	"strings"
	"testing/fstest"

	"github.com/goassay/assay/engine/model/gguf"
	"github.com/goassay/assay/engine/model/hub"
	"github.com/goassay/assay/engine/model/modeldir"
)

// answering is a Hub that has one answer to everything.
type answering string

// RoundTrip implements [http.RoundTripper].
func (a answering) RoundTrip(r *http.Request) (*http.Response, error) {
	return &http.Response{StatusCode: http.StatusOK, ProtoMajor: 1, ProtoMinor: 1, Request: r,
		Header: http.Header{"Content-Type": {"application/json"}}, ContentLength: int64(len(a)),
		Body: io.NopCloser(strings.NewReader(string(a)))}, nil
}

func (a answering) client() (*hub.Client, error) {
	return hub.New(hub.Config{Endpoint: "http://hub.example", Cache: os.DevNull, Transport: a,
		Retries: -1})
}

const commitOf = "0123456789012345678901234567890123456789"

// siblings returns a function that makes the answer about a repository, with files named by a
// pattern.
func siblings(name string) func(int) string {
	return list(`{"sha": "`+commitOf+`", "siblings": [`, `{"rfilename": "`+name+`", "size": 1, `+
		`"blobId": "`+commitOf+`"}`, `]}`)
}

// repositories grow along every dimension that a Hub's answer about a repository has.
var repositories = []generator{
	{"files", siblings("f%d.txt")},
	{"files alike", siblings("f.txt")},
	{"folders", siblings("d%d/f.txt")},
	{"folders of configurations", siblings("d%d/tokenizer_config.json")},
	{"one folder", siblings("d/f%d.txt")},
	{"folders in folders", func(n int) string {
		return siblings(strings.Repeat("d/", max(1, min(n/8, 400))) + "f%d")(n)
	}},
	{"models", siblings("m%d.gguf")},
	{"quantisations", siblings("m-Q%d_K.gguf")},
	{"parts of a model", func(n int) string {
		part := siblings("m-%05d-of-99999.gguf")(1)
		one := part[strings.Index(part, "[")+1 : strings.Index(part, "]")]
		names := make([]string, min(n/len(one)+1, 99999))
		for i := range names {
			names[i] = fmt.Sprintf(one, i+1)
		}
		return strings.Replace(part, one, strings.Join(names, ","), 1)
	}},
	{"parts of models", siblings("m%d-00001-of-00002.gguf")},
	{"one long name", func(n int) string {
		return siblings(strings.Repeat("x", n))(1)
	}},
	{"empty files", list(`{"sha": "`+commitOf+`", "siblings": [`, `{}`, `]}`)},
	{"members", list(`{"sha": "`+commitOf+`", `, `"k%d": %d`, `}`)},
	{"lists of nothing", list(`{"sha": "`+commitOf+`", "cardData": [`, `[]`, `]}`)},
	{"long gate", func(n int) string {
		return `{"sha": "` + commitOf + `", "gated": "` + strings.Repeat(`\u001b`, n/6) + `"}`
	}},
}

// heldBack is a file system whose files cannot be opened, so that only their names cost something.
type heldBack struct{ fs.FS }

// Open implements [fs.FS].
func (h heldBack) Open(name string) (fs.File, error) {
	f, err := h.FS.Open(name)
	if err != nil {
		return nil, err
	}
	if info, err := f.Stat(); err != nil || !info.IsDir() {
		f.Close()
		return nil, &fs.PathError{Op: "open", Path: name, Err: fs.ErrPermission}
	}
	return f, nil
}

// chosen reads what a Hub says of a repository, chooses models, and walks through its files.
func chosen(text string) error {
	c, err := answering(text).client()
	if err != nil {
		return err
	}
	ctx := context.Background()
	r, err := c.Repo(ctx, "o/m", "")
	if err != nil {
		return brief(err)
	}
	for _, want := range []string{"", "Q4_K", "m.gguf"} {
		if _, err := r.Choose(want); err != nil && len(err.Error()) > 64<<10 {
			return fmt.Errorf("%d bytes are said of it", len(err.Error()))
		}
	}
	files := heldBack{c.FS(ctx, r)}
	err = fs.WalkDir(files, ".", func(string, fs.DirEntry, error) error { return nil })
	if err != nil {
		return err
	}
	if _, err = modeldir.Read(files, modeldir.Options{}); err != nil {
		return brief(err)
	}
	return nil
}

// listings grow along every dimension that a Hub's list of repositories has.
var listings = []generator{
	{"repositories", list(`[`, `{"id": "o/m%d", "sha": "`+commitOf+`"}`, `]`)},
	{"repositories without a name", list(`[`, `{}`, `]`)},
	{"files", list(`[{"id": "o/m", "sha": "`+commitOf+`", "siblings": [`, `{"rfilename": "f%d"}`,
		`]}]`)},
	{"tags", list(`[{"id": "o/m", "sha": "`+commitOf+`", "tags": [`, `"base_model:o/b%d"`, `]}]`)},
	{"empty tags", list(`[{"id": "o/m", "sha": "`+commitOf+`", "tags": [`, `""`, `]}]`)},
	{"members", list(`[{"id": "o/m", `, `"k%d": %d`, `}]`)},
	{"depth", between("[", `{"siblings":[`, "")},
}

// listed reads a page of a Hub's list.
func listed(text string) error {
	c, err := answering(text).client()
	if err != nil {
		return err
	}
	if _, err = c.List(context.Background(), hub.Query{}, "", ""); err != nil {
		return brief(err)
	}
	return nil
}

// partOf is the header of a part of a model.
func partOf(no int) string {
	return header(gguf.Pair{Key: "split.no", Value: gguf.Of(uint16(no))},
		gguf.Pair{Key: "split.count", Value: gguf.Of(uint16(9999))},
		gguf.Pair{Key: "tokenizer.chat_template", Value: gguf.Text(small)})
}

// parts are folders with many parts of one model.
var parts = []generator{
	{"parts", func(n int) string { return strings.Repeat("p", n/len(partOf(0))*len(partOf(0))) }},
}

// joined reads a folder with as many parts of a model as fit into the length of an input.
func joined(text string) error {
	files := fstest.MapFS{}
	for no := range min(len(text)/len(partOf(0)), 9999) {
		files[fmt.Sprintf("m-%05d-of-09999.gguf", no+1)] = &fstest.MapFile{Data: []byte(partOf(no))}
	}
	folder, err := modeldir.Read(files, modeldir.Options{})
	if err != nil {
		return brief(err)
	}
	return judged(folder)
}
