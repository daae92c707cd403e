package provider

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"sync"
	"time"

	"github.com/goassay/assay/engine/chat"
	"github.com/goassay/assay/engine/model/filelock"
)

// Format is the version of logs.
const Format = 1

// Header is the first line of a log: what was asked. A run goes on with a log only if all of it is
// the same.
type Header struct {
	Provider int    `json:"provider"` // [Format]
	Version  string `json:"version"`  // of the program that asked
	Root     string `json:"root"`     // the provider's address
	Model    string `json:"model"`
	Dataset  string `json:"dataset"`  // the SHA-256 of its file
	Requests int    `json:"requests"` // how many of them are asked, from the first one on
	Repeats  int    `json:"repeats"`  // how often each is asked
	Send     Send   `json:"send"`
	Extra    string `json:"extra,omitempty"` // members of all bodies
	Template string `json:"template,omitempty"`
}

// Send is how requests are sent.
type Send string

// The ways.
const (
	Batch  Send = "batch"  // the answer comes in one piece
	Stream Send = "stream" // it is streamed
	Either Send = "both"   // each request is sent in both ways
)

// ways is how often a repeat is sent.
func (s Send) ways() int {
	if s == Either {
		return 2
	}
	return 1
}

// Limits of headers, which memory grows with.
const (
	maxRequests = maxKeys
	maxRepeats  = 1000
	maxKeys     = 5_000_000
)

// Check returns why a header cannot be used.
func (h *Header) Check() error {
	switch {
	case h.Provider != Format:
		return fmt.Errorf("provider is %d, expected %d: it is of another version of this program, "+
			"or no log of `assay provider`", h.Provider, Format)
	case h.Requests < 0 || h.Repeats < 1 || h.Requests > maxRequests || h.Repeats > maxRepeats ||
		h.Requests*h.Repeats*h.Send.ways() > maxKeys:
		return fmt.Errorf("%d requests, %d times each, are beyond %d answers", h.Requests,
			h.Repeats, maxKeys)
	case h.Send != Batch && h.Send != Stream && h.Send != Either:
		return fmt.Errorf("send is %.20q, expected %q, %q or %q", h.Send, Batch, Stream, Either)
	}
	return nil
}

// keys is the number of answers that a run has.
func (h *Header) keys() int { return h.Requests * h.Repeats * h.Send.ways() }

// key is the number of an answer: those of a request are beside each other.
func (h *Header) key(n, repeat int, stream bool) int {
	k := n*h.Repeats + repeat
	if h.Send == Either {
		k *= 2
		if stream {
			k++
		}
	}
	return k
}

// The kinds of lines.
const (
	lineSent      = "sent"      // a request is about to be sent
	lineAnswer    = "answer"    // its answer, or that there was none
	lineForgotten = "forgotten" // the answer is not to count: the provider did not answer anybody
)

// Entry is a line of a log.
type Entry struct {
	What   string `json:"what"`
	N      int    `json:"n"`
	Repeat int    `json:"repeat,omitempty"`
	Stream bool   `json:"stream,omitempty"`

	ID      string            `json:"id,omitempty"`
	Tries   int               `json:"tries,omitempty"`
	Status  int               `json:"status,omitempty"` // of HTTP, where there was no answer
	Error   string            `json:"error,omitempty"`
	Finish  chat.FinishReason `json:"finish,omitempty"`
	Usage   *Usage            `json:"usage,omitempty"`
	Message *chat.Message     `json:"message,omitempty"`
	Raw     *string           `json:"raw,omitempty"`
	Outcome *Outcome          `json:"outcome,omitempty"`
	Misses  []Miss            `json:"misses,omitempty"`
}

// Usage is the tokens of an answer, as the provider counts them.
type Usage struct {
	Prompt     int `json:"prompt"`
	Completion int `json:"completion"`
}

func (u *Usage) chat() *chat.Usage {
	if u == nil {
		return nil
	}
	return &chat.Usage{Prompt: u.Prompt, Completion: u.Completion}
}

// summary is an entry without the texts, which are not needed again.
type summary struct {
	What    string   `json:"what"`
	N       int      `json:"n"`
	Repeat  int      `json:"repeat"`
	Stream  bool     `json:"stream"`
	ID      string   `json:"id"`
	Tries   int      `json:"tries"`
	Usage   *Usage   `json:"usage"`
	Outcome *Outcome `json:"outcome"`
	Misses  []Miss   `json:"misses"`
}

// Table holds the outcomes of a run, some 40 bytes for each answer.
type Table struct {
	Header
	Outcomes []Outcome // by their keys
	// InFlight counts the requests that were sent and not answered when the log ended.
	InFlight int
	Again    int // requests that were sent again since a run had ended before their answer
	Spent    Spent
	Misses   Misses

	flying []uint64 // a bit for each key that was sent and not answered
	whole  int64    // bytes of whole lines
}

// Spent is the cost of a run.
type Spent struct {
	// tries; a request that was in flight when a run ended counts as one, however often it was sent
	Requests   int64 `json:"requests"`
	Prompt     int64 `json:"prompt"` // tokens
	Completion int64 `json:"completion"`
}

// Misses counts misses by kind and cause, and keeps the first of each.
type Misses struct {
	Counts   map[[2]string]int
	Examples []Example
}

// Example is a miss with its request.
type Example struct {
	Request string `json:"request"`
	Miss
}

// maxExamples bounds the examples of a kind and cause.
const maxExamples = 3

func (m *Misses) add(id string, misses []Miss) {
	if m.Counts == nil {
		m.Counts = map[[2]string]int{}
	}
	for _, miss := range misses {
		at := [2]string{miss.Kind, miss.Cause}
		if m.Counts[at] == 0 && len(m.Counts) >= 100 {
			continue // there are not as many kinds in a log that this program wrote
		}
		if m.Counts[at]++; m.Counts[at] <= maxExamples {
			m.Examples = append(m.Examples, Example{id, miss})
		}
	}
}

// more counts misses without examples.
func (m *Misses) more(kind, cause string, count int) {
	if m.Counts == nil {
		m.Counts = map[[2]string]int{}
	}
	m.Counts[[2]string{kind, cause}] += count
}

// forget takes the failure of a request back.
func (m *Misses) forget(id string) {
	at := [2]string{MissFailed, CauseProvider}
	if m.Counts[at]--; m.Counts[at] <= 0 {
		delete(m.Counts, at)
	}
	m.Examples = slices.DeleteFunc(m.Examples, func(e Example) bool {
		return e.Request == id && e.Kind == MissFailed
	})
}

func newTable(h Header) *Table {
	return &Table{Header: h, Outcomes: make([]Outcome, h.keys()),
		flying: make([]uint64, (h.keys()+63)/64)}
}

func (t *Table) fly(key int, on bool) {
	bit := uint64(1) << (key % 64)
	if was := t.flying[key/64]&bit != 0; was == on {
		return
	}
	t.flying[key/64] ^= bit
	if on {
		t.InFlight++
	} else {
		t.InFlight--
	}
}

// at returns the key of an entry.
func (t *Table) at(n, repeat int, stream bool) (int, error) {
	if n < 0 || n >= t.Requests || repeat < 0 || repeat >= t.Repeats ||
		stream && t.Send == Batch || !stream && t.Send == Stream {
		return 0, errors.New("it is of no request of the run")
	}
	return t.key(n, repeat, stream), nil
}

func (t *Table) add(e *summary) error {
	key, err := t.at(e.N, e.Repeat, e.Stream)
	if err != nil {
		return err
	}
	switch e.What {
	case lineSent:
		if t.flying[key/64]&(1<<(key%64)) != 0 { // a run ended before its answer
			t.Spent.Requests++
			t.Again++
		}
		t.fly(key, true)
	case lineForgotten:
		if t.Outcomes[key].State == Failed {
			t.Misses.forget(e.ID)
		}
		t.Outcomes[key] = Outcome{}
	case lineAnswer:
		if e.Outcome == nil || e.Outcome.State == Missing || e.Outcome.State > Answered {
			return errors.New("it has no outcome")
		}
		t.fly(key, false)
		t.Outcomes[key] = *e.Outcome
		t.Spent.Requests += int64(e.Tries)
		if e.Usage != nil {
			t.Spent.Prompt += int64(max(0, e.Usage.Prompt))
			t.Spent.Completion += int64(max(0, e.Usage.Completion))
		}
		t.Misses.add(e.ID, e.Misses)
	default:
		return fmt.Errorf("what is %.40q, expected %q, %q or %q", e.What, lineSent, lineAnswer,
			lineForgotten)
	}
	return nil
}

// maxEntry bounds a line of a log, in bytes: a message, its raw text, and the escapes of both.
const maxEntry = 64 << 20

// ReadTable reads a log. A last line that is not whole is left out: the process ended in it.
func ReadTable(r io.Reader) (*Table, error) {
	in := bufio.NewReaderSize(r, 1<<20)
	var t *Table
	for n := 1; ; n++ {
		line, err := readLine(in)
		if errors.Is(err, io.EOF) {
			if t == nil {
				return nil, errNoHeader
			}
			return t, nil
		}
		if err == nil && t == nil {
			var h Header
			if err = json.Unmarshal(line, &h); err == nil {
				err = h.Check()
			}
			if err == nil {
				t = newTable(h)
			}
		} else if err == nil {
			var e summary
			if err = json.Unmarshal(line, &e); err == nil {
				err = t.add(&e)
			}
		}
		if err != nil {
			return nil, fmt.Errorf("line %d: %w", n, err)
		}
		t.whole += int64(len(line)) + 1
	}
}

var errNoHeader = errors.New("it has no whole line, expected a log of `assay provider`")

// readLine returns a line without its line feed, or io.EOF where none is whole.
func readLine(in *bufio.Reader) ([]byte, error) {
	var whole []byte
	for {
		part, err := in.ReadSlice('\n')
		if err == nil && whole == nil {
			return part[:len(part)-1], nil
		}
		if err != nil && !errors.Is(err, bufio.ErrBufferFull) {
			return nil, err
		}
		if whole = append(whole, part...); err == nil {
			return whole[:len(whole)-1], nil
		}
		if len(whole) > maxEntry {
			return nil, fmt.Errorf("it has more than %d bytes", maxEntry)
		}
	}
}

// Log is a log that a run appends to. It is safe for concurrent use.
type Log struct {
	mu     sync.Mutex
	f      *os.File
	out    bytes.Buffer
	enc    *json.Encoder
	now    func() time.Time
	synced time.Time
}

// syncEvery is how long what was written may be lost when the machine fails; the end of the process
// loses nothing, since every line goes to the system at once.
const syncEvery = time.Second

// OpenLog opens a log, or makes it, and returns it with its outcomes. An error of a log that is
// there names the first thing in which it is of another run.
func OpenLog(name string, h Header, now func() time.Time) (*Log, *Table, error) {
	f, err := os.OpenFile(name, os.O_RDWR|os.O_CREATE, 0o666)
	if err != nil {
		return nil, nil, err
	}
	l, t, err := openLog(f, h, now)
	if err != nil {
		f.Close()
		return nil, nil, fmt.Errorf("%s: %w", name, err)
	}
	return l, t, nil
}

func openLog(f *os.File, h Header, now func() time.Time) (*Log, *Table, error) {
	info, err := f.Stat()
	if err != nil {
		return nil, nil, err
	}
	if !info.Mode().IsRegular() {
		return nil, nil, errors.New("it is no file, so that no run could go on with it")
	}
	if mine, err := filelock.Try(f); err != nil {
		return nil, nil, err
	} else if !mine {
		return nil, nil, errors.New("another run writes to it")
	}
	h.Provider = Format
	if err := h.Check(); err != nil {
		return nil, nil, err
	}
	t, err := ReadTable(f)
	if errors.Is(err, errNoHeader) && info.Size() <= maxTorn {
		t, err = newTable(h), nil
	}
	if err != nil {
		return nil, nil, err
	}
	if err := t.same(&h); err != nil {
		return nil, nil, err
	}
	// the rest is a line in which a process ended
	if err := f.Truncate(t.whole); err != nil {
		return nil, nil, err
	}
	if _, err := f.Seek(t.whole, io.SeekStart); err != nil {
		return nil, nil, err
	}
	l := &Log{f: f, now: now, synced: now()}
	l.enc = json.NewEncoder(&l.out)
	l.enc.SetEscapeHTML(false)
	if t.whole == 0 {
		err = errors.Join(l.write(h), f.Sync())
	}
	return l, t, err
}

// maxTorn bounds a header: a longer file without a whole line is something else, and stays as it
// is.
const maxTorn = 64 << 10

// same returns why a log cannot be gone on with by a run.
func (t *Table) same(h *Header) error {
	for _, c := range [...]struct{ name, was, is string }{
		{"the provider's address", t.Root, h.Root},
		{"the model", t.Model, h.Model},
		{"the data set", t.Dataset, h.Dataset},
		{"the number of requests", fmt.Sprint(t.Requests), fmt.Sprint(h.Requests)},
		{"--repeats", fmt.Sprint(t.Repeats), fmt.Sprint(h.Repeats)},
		{"--send", string(t.Send), string(h.Send)},
		{"--extra", t.Extra, h.Extra},
		{"the template", t.Template, h.Template},
		{"the program's version", t.Version, h.Version},
	} {
		if c.was != c.is {
			return fmt.Errorf("it is of another run: %s was %.100q and is %.100q; name another "+
				"file, or go on with the same arguments", c.name, c.was, c.is)
		}
	}
	return nil
}

// write appends a line in one call to the system.
func (l *Log) write(v any) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.out.Reset()
	if err := l.enc.Encode(v); err != nil {
		return err
	}
	if _, err := l.f.Write(l.out.Bytes()); err != nil {
		return err
	}
	if l.out.Cap() > 1<<20 { // after a long answer
		l.out = bytes.Buffer{}
		l.enc = json.NewEncoder(&l.out)
		l.enc.SetEscapeHTML(false)
	}
	if now := l.now(); now.Sub(l.synced) >= syncEvery {
		l.synced = now
		return l.f.Sync()
	}
	return nil
}

// Close makes what was written last, and closes the log.
func (l *Log) Close() error { return errors.Join(l.f.Sync(), l.f.Close()) }
