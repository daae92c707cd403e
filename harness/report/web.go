package report

import (
	"bytes"
	"crypto/sha256"
	"embed"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"io/fs"
	"slices"
	"strings"
	"unicode/utf16"
)

//go:embed web
var web embed.FS

// Web returns the files of the page that shows a template at work. They need an engine beside them:
// assay.wasm.gz and Go's wasm_exec.js, or the server of `assay page`; and families.json.gz, a list
// of families.Own.
func Web() fs.FS {
	files, err := fs.Sub(web, "web")
	if err != nil {
		panic(err) // the folder is embedded
	}
	return files
}

// file is a file of the page.
func file(name string) []byte {
	text, err := fs.ReadFile(Web(), name)
	if err != nil {
		panic(err) // the files are embedded
	}
	return text
}

// View holds the data of a page of one template, or of an edit: the template, and every answer that
// the page will ask for.
type View struct {
	Name     string  `json:"name"`
	Version  string  `json:"version"`
	Template string  `json:"template"`
	Was      string  `json:"was,omitempty"` // the older revision
	Open     string  `json:"view"`          // the view that is open at first: "findings", "diff"
	Answers  []Asked `json:"answers"`
}

// Asked is a request of package service, less its templates, and the answer.
type Asked struct {
	Of      string          `json:"of"` // the template that it is about: "is" or "was"
	Request json.RawMessage `json:"request"`
	Answer  json.RawMessage `json:"answer"`
}

// HTML writes the view as one page that stands alone: it loads nothing, and its one script is named
// by its hash.
func (v *View) HTML(w io.Writer) error {
	page, style := file("index.html"), slices.Concat(file("design.css"), file("page.css"))
	script := slices.Concat(file("jinja.js"), file("diagram.js"), file("page.js"))
	var data bytes.Buffer
	// < and > are escaped, so that no text ends the element
	if err := json.NewEncoder(&data).Encode(v); err != nil {
		return err
	}
	facts := ascii(data.Bytes())
	hash := func(text []byte) string {
		sum := sha256.Sum256(text)
		return "'sha256-" + base64.StdEncoding.EncodeToString(sum[:]) + "'"
	}
	policy := fmt.Sprintf("default-src 'none'; script-src %s; style-src %s; img-src data:; "+
		"base-uri 'none'; form-action 'none'", hash(script), hash(style))
	for _, change := range []struct{ from, to, with string }{
		{`content="default-src`, `">`, `content="` + policy + `">`},
		{`<link rel="stylesheet"`, `page.css">`, "<style>" + string(style) + "</style>"},
		{`<script src=`, `</head>`, "</head>"},
		{`</body>`, `>`, `<script type="application/json" id="answers">` + facts + "</script>\n<script>" + string(script) + "</script>\n</body>"},
	} {
		begin := bytes.Index(page, []byte(change.from))
		end := begin + bytes.Index(page[begin:], []byte(change.to)) + len(change.to)
		page = bytes.Join([][]byte{page[:begin], []byte(change.with), page[end:]}, nil)
	}
	_, err := w.Write(page)
	return err
}

// ascii escapes in JSON everything beyond ASCII, so that who looks at the file sees no text turned
// around.
func ascii(text []byte) string {
	var out strings.Builder
	for _, r := range string(text) {
		switch {
		case r < 0x7f:
			out.WriteByte(byte(r))
		case r > 0xffff:
			high, low := utf16.EncodeRune(r)
			fmt.Fprintf(&out, `\u%04x\u%04x`, high, low)
		default:
			fmt.Fprintf(&out, `\u%04x`, r)
		}
	}
	return out.String()
}
