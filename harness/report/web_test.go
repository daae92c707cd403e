package report_test

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"

	"github.com/goassay/assay/harness/report"
)

// TestView writes a page with a template that would like to be markup: it has one element for data
// and one script, both its own.
func TestView(t *testing.T) {
	hostile := "</script><script>alert(1)</script><!-- <script>\u2028{% if %}"
	answer, err := json.Marshal(map[string]any{"ok": true,
		"result": map[string]any{"text": hostile}})
	if err != nil {
		t.Fatal(err)
	}
	v := &report.View{Name: hostile, Template: hostile, Open: "findings",
		Answers: []report.Asked{{Of: "is", Request: json.RawMessage(`{"op":"check"}`), Answer: answer}}}
	var page bytes.Buffer
	if err := v.HTML(&page); err != nil {
		t.Fatal(err)
	}
	text := page.String()
	if strings.Contains(text, "alert(1)</") || strings.Count(text, "<script") != 2 ||
		strings.Count(text, "</script>") != 2 {
		t.Errorf("the page has %d scripts", strings.Count(text, "<script"))
	}
	if strings.Contains(text, "script-src 'self'") || !strings.Contains(text, "script-src 'sha256-") || strings.Contains(text, `src="`) || strings.Contains(text, `href="page`) {
		t.Error("the page loads something")
	}
	begin := strings.Index(text, `id="answers">`) + len(`id="answers">`)
	var back report.View
	if err := json.Unmarshal([]byte(text[begin:begin+strings.Index(text[begin:], "</script>")]),
		&back); err != nil || back.Template != hostile {
		t.Errorf("the data cannot be read back: %v", err)
	}
}
