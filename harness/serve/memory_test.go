package serve_test

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/goassay/assay/harness/check/subject"
	"github.com/goassay/assay/harness/serve"
)

// long writes an answer of many pieces, and notes the heap when the last one has been taken.
type long struct {
	speaker
	begin, word string
	words       int
	quiet       bool   // it notes nothing
	heap        uint64 // in bytes
}

func (l *long) Generate(_ context.Context, _ serve.Job,
	take func(serve.Piece) error) (serve.Result, error) {
	if err := take(serve.Piece{}); err != nil {
		return serve.Result{}, err
	}
	for i := range l.words + 1 {
		text := l.word
		if i == 0 {
			text = l.begin
		}
		if err := take(serve.Piece{Text: []byte(text), More: i%64 != 0}); err != nil {
			return serve.Result{}, err
		}
	}
	if !l.quiet {
		l.heap = uint64(inUse())
	}
	return serve.Result{Cut: true}, nil
}

// mostMemory is how many bytes an answer that streams may take for a byte of its text: the parser's
// message, the writer's, and the room in which the two grow, twice the text and a quarter of it.
const mostMemory = 3.5

// TestMemory demands that an answer takes no memory beyond its text while it streams, whatever its
// parts are: of content, reasoning and arguments of 4 MiB each in pieces of 64 bytes, in every
// protocol.
func TestMemory(t *testing.T) {
	src, tm := compile(t, "qwen3")
	const word, few, many = "A word, and another one; a sentence of sixty-four bytes, in all.",
		1 << 12, 1 << 16
	for name, begin := range map[string]string{"content": "It is: ", "reasoning": "<think>\n",
		"arguments": "<tool_call>\n" + `{"name": "store_note", "arguments": {"text": "`} {
		back := &long{begin: begin, word: word}
		s, err := serve.New(serve.Options{Names: []string{"scripted"}, Source: src, Template: tm,
			Backend: back, Now: subject.Now})
		if err != nil {
			t.Fatal(err)
		}
		server := httptest.NewServer(s.Handler())
		defer server.Close()
		for path, body := range requests {
			heap := func(words int) float64 {
				back.words = words
				asked := strings.Replace(fmt.Sprintf(body, `, "stream": true`), "500", "99999999", 1)
				r, err := http.Post(server.URL+path, "application/json", strings.NewReader(asked))
				if err != nil {
					t.Fatal(err)
				}
				defer r.Body.Close()
				if n, _ := io.Copy(io.Discard, r.Body); r.StatusCode != 200 || n < int64(words) {
					t.Fatalf("%s: status %d, %d bytes", path, r.StatusCode, n)
				}
				return float64(back.heap)
			}
			heap(few)
			a, b := heap(few), heap(many)
			per := (b - a) / float64((many-few)*len(word))
			t.Logf("%s of %s: %.2f bytes for a byte of text", name, path, per)
			if per < 1 || per > mostMemory {
				t.Errorf("%s of %s: %.2f bytes for a byte of text; expected 1 to %.1f", name, path, per,
					mostMemory)
			}
		}
	}
}

// TestAnswersAreLetGo demands that nothing of an answer is kept once it has ended. A hundred timers
// run besides, as those of other streams do: among so many the runtime keeps one that was stopped.
func TestAnswersAreLetGo(t *testing.T) {
	back := &long{begin: "It is: ", word: strings.Repeat("A word, ", 8), words: 1 << 16,
		quiet: true}
	_, url, _ := sized(t, back, 0)
	for range 100 {
		defer time.AfterFunc(time.Hour, func() {}).Stop()
	}
	const body = `{"stream": true, "max_tokens": 99999999, "messages": [{"role": "user", "content": "x"}]}`
	ask := func() {
		if status, text := post(t, url+"/v1/messages", body); status != 200 || len(text) < 4<<20 {
			t.Fatalf("%d %.200s", status, text)
		}
	}
	ask()
	base := inUse()
	for range 4 {
		ask()
	}
	if kept := inUse() - base; kept > 2<<20 {
		t.Errorf("%.1f MiB of four answers of 4 MiB are kept", kept/(1<<20))
	}
}
