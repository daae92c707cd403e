package main

import (
	"cmp"
	"fmt"
	"io"
	"strings"

	"github.com/goassay/assay/engine/model/hub"
	"github.com/goassay/assay/harness/foreign/engines"
	"github.com/goassay/assay/harness/hub/results"
	"github.com/goassay/assay/harness/hub/survey"
)

// digests replaces %x by a digest, which grows from line to line.
func digests(text string) string {
	var b strings.Builder
	for line := range strings.Lines(text) {
		b.WriteString(strings.ReplaceAll(line, "%x", fmt.Sprintf("%064x", b.Len())))
	}
	return b.String()
}

// surveyLines puts lines after the header of a survey's results.
func surveyLines(lines func(int) string) func(int) string {
	return func(n int) string {
		text := lines(n)
		return digests(`{"results":"survey","format":2,"version":"1","manifest":"%x",` +
			fmt.Sprintf(`"entries":%d,"of":1,"parts":[1]}`, strings.Count(text, `"what"`)) + "\n" +
			text)
	}
}

const entry = `{"what":"template","where":"a%d","digest":"%x"}`

// surveyResults grow along every dimension that results of a survey have.
var surveyResults = []generator{
	{"lines", surveyLines(times(`{"digest":"%x","verdict":"pass","entries":[` + entry + "]}\n"))},
	{"formats", surveyLines(times(`{"digest":"%x","verdict":"pass","format":"%x","entries":[` +
		entry + "]}\n"))},
	{"entries", surveyLines(list(`{"digest":"%x","verdict":"pass","entries":[`,
		entry, "]}\n"))},
	{"findings", surveyLines(list(`{"digest":"%x","verdict":"fail","why":"A001","findings":[`,
		`{"rule":"A%d","severity":"error","text":"x"}`, `],"entries":[`+entry+"]}\n"))},
	{"why", surveyLines(func(n int) string {
		return `{"digest":"%x","verdict":"fail","why":"` + strings.Repeat("x", n) + `","entries":[` +
			entry + "]}\n"
	})},
	{"members", surveyLines(list(`{"digest":"%x","verdict":"pass",`, `"k%d":1`, "}\n"))},
	{"header", func(n int) string {
		return `{"results":"` + strings.Repeat("x", n) + `"}` + "\n"
	}},
}

// summarised reads results of a survey and writes their summary.
func summarised(text string) error {
	r, err := results.NewReader(strings.NewReader(text), results.Survey)
	if err != nil {
		return brief(err)
	}
	summary := survey.NewSummary(r.Header)
	for {
		line, err := results.Next[survey.Line](r)
		if err == io.EOF {
			return summary.Text(io.Discard)
		}
		if err != nil {
			return brief(err)
		}
		summary.Add(line)
	}
}

const engineLine = `{"engine":{"name":"e%d","version":"1","tools":["t"],"reasoning":["r"]}}` + "\n"

// readings grow along every dimension that the readings of engines have.
var readings = []generator{
	{"engines", times(engineLine)},
	{"families", func(n int) string {
		return strings.ReplaceAll(engineLine, "%d", "") +
			times(`{"family":{"name":"f%d","engine":"e","template":"t"}}`+"\n")(n)
	}},
	{"families and engines", func(n int) string {
		return strings.ReplaceAll(engineLine, "%d", "") +
			times(`{"family":{"name":"f%d","engine":"e","template":"t"}}`+"\n")(n/2) +
			times(engineLine)(n/2)
	}},
	{"parsers", list(`{"engine":{"name":"e","version":"1","tools":[`, `"t%d"`, "]}}\n")},
}

// picked reads the readings of engines, from which one picks its parsers, and writes them.
func picked(text string) error {
	p, err := engines.ReadPublished([]byte(text))
	if err != nil {
		return brief(err)
	}
	_, err = p.Text()
	return err
}

// locks grow along every dimension that the lock of a model has.
var locks = []generator{
	{"files", locked(times(`{"file": "f%d", "size": 1, "sha256": "%x"}, `), "")},
	{"templates", locked(nil, `, "templates": [%s{"name": "z", "sha256": ""}]`)},
	{"members", locked(nil, `, "x": [%s{}]`)},
}

// locked puts files into a lock, or copies of a template in the place of %s.
func locked(files func(int) string, more string) func(int) string {
	const file = `{"file": "f", "size": 1, "sha256": "%x"}`
	return func(n int) string {
		all := file
		if files != nil {
			all = files(n) + file
		} else {
			more := strings.ReplaceAll(more, "%s",
				times(`{"name": "n%d", "sha256": "%x"}, `)(n))
			return digests(lockHead + all + "]" + more + "}")
		}
		return digests(lockHead + all + "]}")
	}
}

const lockHead = `{"version": 1, "repository": "o/m", "revision": "main", "commit": ` +
	`"0123456789012345678901234567890123456789", "files": [`

// locking reads the lock of a model and writes it.
func locking(text string) error {
	l, err := hub.ParseLock([]byte(text))
	if err != nil {
		return brief(err)
	}
	l.Text()
	return nil
}

// brief takes a refusal for a limit, unless its text is long.
func brief(err error) error {
	return cmp.Or(long(err), limited(err))
}
