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
func file(name string) string {
	text, err := fs.ReadFile(Web(), name)
	if err != nil {
		panic(err) // the files are embedded
	}
	return string(text)
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

// Index returns index.html with its styles in it, named by their hash: nothing has to come before a
// browser shows it.
func Index() string {
	style := file("design.css") + file("page.css")
	return replace(file("index.html"), []change{
		{"style-src 'self'", "", "style-src " + hash(style)},
		{`<link rel="stylesheet"`, `page.css">`, "<style>" + style + "</style>"}})
}

// HTML writes the view as one page that stands alone: it loads nothing, and its one script is named
// by its hash.
func (v *View) HTML(w io.Writer) error {
	script := file("jinja.js") + file("diagram.js") + file("page.js")
	var data bytes.Buffer
	// < and > are escaped, so that no text ends the element
	if err := json.NewEncoder(&data).Encode(v); err != nil {
		return err
	}
	_, err := io.WriteString(w, replace(Index(), []change{
		{"script-src", ";", "script-src " + hash(script) + ";"},
		{"connect-src", "blob:; ", ""},
		{`<script src=`, `</head>`, "</head>"},
		{`</body>`, "", `<script type="application/json" id="answers">` + ascii(data.Bytes()) + "</script>\n<script>" + script + "</script>\n</body>"},
	}))
	return err
}

// change puts a text in the place of the first that begins and ends so.
type change struct{ from, to, with string }

func replace(page string, changes []change) string {
	for _, c := range changes {
		before, rest, _ := strings.Cut(page, c.from)
		_, after, _ := strings.Cut(rest, c.to)
		page = before + c.with + after
	}
	return page
}

// hash names a text in a policy.
func hash(text string) string {
	sum := sha256.Sum256([]byte(text))
	return "'sha256-" + base64.StdEncoding.EncodeToString(sum[:]) + "'"
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
