// Package dataset reads lists of requests that providers of a model are asked, and makes one.
//
// # Model
//
// A data set is a file of JSON lines. [Reader] takes the lines that verifiers of providers have, in
// any mixture, and gives each as a [Request]: the body of a chat completion.
//
//   - A body: {"messages": [...], "tools": [...], ...}. K2 Vendor Verifier's samples and MiniMax's
//     are these. Members that a verifier keeps for itself (check_type, data_index, hash, ...) are
//     not part of the body; expected_tool_call tells whether a call is right.
//   - A result of those verifiers, which has the body as "request".
//   - A case of Kimi Vendor Verifier's prompt tokens, which has the body as "request" and the
//     number of tokens that its prompt has. Cases with images that only the verifier has are left
//     out.
//   - A line of OpenAI's batch files, which has it as "body", and a custom_id.
//   - A fixture of canitoolcall, which has no conversation: the tools and the message that an
//     output means. The request asks for that message. Fixtures that expect an error are about
//     parsers, and left out.
//
// [Results] reads the results of those verifiers, answers included, so that the ones that a
// publisher has made of its own endpoint can be a reference.
//
// [Generate] makes a data set of the kinds of requests that a corpus has, drawn from a seed.
//
// # Limits
//
// A line has at most [MaxLine] bytes. Memory does not grow with the file.
//
// # Errors
//
// A line that cannot be used is an error with its number: a run that left out requests without a
// word would count too few.
//
// # Stability
//
// This package may change with every release; package engine lists the stable ones.
package dataset

import (
	"bufio"
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"

	"github.com/goassay/assay/engine/chat"
	"github.com/goassay/assay/engine/ordered"
)

// MaxLine bounds a line, in bytes: a conversation of a million tokens.
const MaxLine = 32 << 20

// Request is a request of a data set.
type Request struct {
	N    int    // its number in the data set, from 0
	ID   string // its name there, or its line's number
	Body ordered.Value
	// Expect is whether an answer has to end in a call, where the data set says so; nil: it does
	// not.
	Expect *bool
	Tokens int // that the prompt has to have, where the data set says so; 0: it does not
}

// own are the members of a body that verifiers keep for themselves.
var own = []string{"check_type", "data_index", "hash", "expected_tool_call", "id", "tags",
	"sample_id", "expected_prompt_tokens"}

// Reader reads a data set.
type Reader struct {
	Left int // lines that were left out so far: no request can be made of them

	lines *bufio.Scanner
	line  int
	n     int
}

// NewReader returns a reader of a data set.
func NewReader(r io.Reader) *Reader {
	lines := bufio.NewScanner(r)
	lines.Buffer(nil, MaxLine)
	return &Reader{lines: lines}
}

// Next returns the next request, or io.EOF.
func (r *Reader) Next() (Request, error) {
	for {
		v, err := r.value()
		if err != nil {
			return Request{}, err
		}
		request, err := read(v)
		if errors.Is(err, errLeftOut) {
			r.Left++
			continue
		}
		if err != nil {
			return Request{}, fmt.Errorf("line %d: %w", r.line, err)
		}
		request.ID = cmp.Or(request.ID, strconv.Itoa(r.line))
		request.N = r.n
		r.n++
		return request, nil
	}
}

// value returns the next line that is not blank.
func (r *Reader) value() (ordered.Value, error) {
	for r.lines.Scan() {
		r.line++
		if len(bytes.TrimSpace(r.lines.Bytes())) == 0 {
			continue
		}
		v, err := ordered.Parse(r.lines.Bytes())
		if err == nil && v.Kind() != ordered.Object {
			err = fmt.Errorf("expected an object, found %s", ordered.Excerpt(v, 80))
		}
		if err != nil {
			return v, fmt.Errorf("line %d: %w", r.line, err)
		}
		return v, nil
	}
	if err := r.lines.Err(); err != nil {
		return ordered.Value{}, fmt.Errorf("line %d: %w", r.line+1, err)
	}
	return ordered.Value{}, io.EOF
}

// errLeftOut is the error of a line that is no request and is meant to be none.
var errLeftOut = errors.New("left out")

// read reads a line of any kind.
func read(v ordered.Value) (Request, error) {
	if raw, ok := v.Get("raw_output"); ok && raw.Kind() == ordered.String {
		return fixture(v)
	}
	r := Request{Body: v, ID: v.At("custom_id").Text(), Expect: boolean(v.At("expected_tool_call"))}
	r.ID = cmp.Or(r.ID, v.At("id").Text())
	for _, key := range [...]string{"request", "body"} {
		if body := v.At(key); body.Kind() == ordered.Object {
			r.Body = body
			if r.Expect == nil {
				r.Expect = boolean(body.At("expected_tool_call"))
			}
			break
		}
	}
	if tokens, ok := v.Get("expected_prompt_tokens"); ok {
		n, err := strconv.Atoi(tokens.Text())
		if err != nil || n < 1 || n > maxTokens {
			return r, fmt.Errorf("expected_prompt_tokens is %s, expected a number from 1",
				ordered.Excerpt(tokens, 40))
		}
		r.Tokens = n
	}
	for _, key := range own {
		r.Body = r.Body.Without(key)
	}
	if _, ok := r.Body.Get("messages"); !ok {
		if _, ok := r.Body.Get("prompt"); ok {
			return r, errors.New("it has a prompt and no messages: this reads requests of chat " +
				"completions")
		}
		return r, errors.New(`expected the body of a chat completion, with "messages"`)
	}
	if ownImage(r.Body) {
		return r, errLeftOut
	}
	if _, err := chat.ParseRequest(r.Body); err != nil {
		return r, err
	}
	return r, nil
}

// maxTokens bounds the tokens of a prompt.
const maxTokens = 1 << 30

// ownImage reports whether a request has an image that its verifier has as a file.
func ownImage(body ordered.Value) bool {
	for _, m := range body.At("messages").Items() {
		for _, part := range m.At("content").Items() {
			if strings.HasPrefix(part.At("image_url", "url").Text(), "fixture:") {
				return true
			}
		}
	}
	return false
}

// boolean returns a boolean's value, nil for anything else.
func boolean(v ordered.Value) *bool {
	if v.Kind() != ordered.Bool {
		return nil
	}
	b := v.Bool()
	return &b
}

// fixture makes a request for the message that a fixture of canitoolcall expects.
func fixture(v ordered.Value) (Request, error) {
	r := Request{ID: v.At("id").Text()}
	want := v.At("expected")
	calls := want.At("tool_calls").Items()
	ask := ""
	switch content := want.At("content").Text(); {
	case len(calls) > 0:
		ask = "Call exactly these functions, in this order, with these arguments:"
		for _, c := range calls {
			ask += "\n" + c.At("name").Text() + " " + c.At("arguments").String()
		}
	case content != "":
		ask = "Call no function. Answer with this text and nothing else:\n" + content
	default:
		return r, errLeftOut
	}
	expect := len(calls) > 0
	r.Expect = &expect
	members := []ordered.Member{ordered.MemberOf("messages", ordered.ArrayOf(chat.User(ask)))}
	if tools := v.At("tools"); len(tools.Items()) > 0 {
		members = append(members, ordered.MemberOf("tools", tools))
	} else if expect {
		return r, errLeftOut
	}
	if thinking := v.At("thinking"); thinking.Kind() == ordered.Bool {
		members = append(members, ordered.MemberOf("chat_template_kwargs", ordered.Pairs(
			"enable_thinking", thinking)))
	}
	r.Body = ordered.ObjectOf(members...)
	if _, err := chat.ParseRequest(r.Body); err != nil {
		return r, err
	}
	return r, nil
}

// Result is a line of another verifier's results: a request and its answer.
type Result struct {
	N      int // the request's number in its data set, from 0
	Body   ordered.Value
	Expect *bool
	Answer ordered.Value // a chat.completion; null where there was none
}

// Results reads the results of K2 Vendor Verifier or MiniMax's verifier: objects with data_index,
// from 1, request and response.
type Results struct{ in *Reader }

// NewResults returns a reader of results.
func NewResults(r io.Reader) *Results { return &Results{NewReader(r)} }

// IsResult reports whether a line is one of results.
func IsResult(line []byte) bool {
	v, err := ordered.Parse(line)
	_, index := v.Get("data_index")
	_, response := v.Get("response")
	return err == nil && index && response
}

// maxIndex bounds the numbers of results, which memory grows with.
const maxIndex = 10_000_000

// Next returns the next result, or io.EOF.
func (r *Results) Next() (Result, error) {
	v, err := r.in.value()
	if err != nil {
		return Result{}, err
	}
	n, err := strconv.Atoi(v.At("data_index").Text())
	if err != nil || n < 1 || n > maxIndex {
		return Result{}, fmt.Errorf("line %d: data_index is %s, expected a number from 1", r.in.line,
			ordered.Excerpt(v.At("data_index"), 40))
	}
	request, err := read(v)
	if err != nil {
		return Result{}, fmt.Errorf("line %d: request: %w", r.in.line, err)
	}
	return Result{N: n - 1, Body: request.Body, Expect: request.Expect,
		Answer: v.At("response")}, nil
}
