package provider

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"

	"github.com/goassay/assay/harness/serve/provider/dataset"
)

// maxAgainst bounds the answers that are explained against a reference: their texts are kept.
const maxAgainst = 1000

// Against adds the misses of a run by its reference to those of its table: no call where most of
// the reference's answers to the request end in one, and the other way round, for requests of which
// the data set does not say which is right. log is the run's own, and open opens the data set. Of
// more than a thousand such answers the first ones in the log are explained, and the others
// counted.
func (e *Explainer) Against(log io.Reader, own, ref *Table,
	open func() (io.ReadCloser, error)) error {
	kinds, count := own.against(ref)
	if count == 0 {
		return nil
	}
	answers, err := pick(log, own, kinds)
	if err != nil {
		return err
	}
	f, err := open()
	if err != nil {
		return err
	}
	defer f.Close()
	in := dataset.NewReader(f)
	for n := 0; n < own.Requests && len(answers) > 0; n++ {
		request, err := in.Next()
		if err != nil {
			return fmt.Errorf("the data set: %w", err)
		}
		for _, entry := range answers[n] {
			q, err := newQuestion(request.Body, nil)
			if err != nil {
				return err
			}
			a := &answer{Message: *entry.Message, Finish: entry.Finish, Raw: entry.Raw,
				Usage: entry.Usage.chat()}
			kind := kinds[own.key(n, entry.Repeat, entry.Stream)]
			own.Misses.add(entry.ID, []Miss{e.against(q, a, kind)})
			count--
		}
		delete(answers, n)
	}
	if count > 0 {
		own.Misses.more(MissReference, CauseUnknown, count)
	}
	return nil
}

// against returns the kind of each answer that decides otherwise than the reference, by its key,
// and how many there are.
func (t *Table) against(ref *Table) (map[int]string, int) {
	kinds := map[int]string{}
	count := 0
	for n := range t.Requests {
		calls, answers := 0, ref.answers(n, false)
		for i := range answers {
			if answers[i].Called {
				calls++
			}
		}
		if 2*calls == len(answers) {
			continue // it has no answers, or as many of both
		}
		from := t.key(n, 0, false)
		for key := from; key < from+t.Repeats*t.Send.ways(); key++ {
			o := &t.Outcomes[key]
			if o.State != Answered || o.Expected != 0 || o.Called == (2*calls > len(answers)) {
				continue
			}
			if count++; len(kinds) >= maxAgainst {
				continue
			}
			if kinds[key] = MissReference; o.Called {
				kinds[key] = MissNoReference
			}
		}
	}
	return kinds, count
}

// pick returns the answers of a log with these keys, by their requests.
func pick(log io.Reader, t *Table, kinds map[int]string) (map[int][]Entry, error) {
	in := bufio.NewReaderSize(log, 1<<20)
	picked := map[int][]Entry{}
	for n := 1; ; n++ {
		line, err := readLine(in)
		if errors.Is(err, io.EOF) {
			return picked, nil
		} else if err != nil {
			return nil, fmt.Errorf("line %d: %w", n, err)
		}
		var at summary
		if n == 1 || json.Unmarshal(line, &at) != nil || at.What != lineAnswer {
			continue
		}
		key, err := t.at(at.N, at.Repeat, at.Stream)
		if err != nil || kinds[key] == "" {
			continue
		}
		var e Entry
		if err := json.Unmarshal(line, &e); err != nil {
			return nil, fmt.Errorf("line %d: %w", n, err)
		}
		if e.Message != nil {
			picked[e.N] = append(picked[e.N], e)
		}
	}
}

// against explains an answer that decides otherwise than the reference.
func (e *Explainer) against(q *question, a *answer, kind string) Miss {
	expect := kind == MissReference
	q.expect = &expect
	as := MissNoCall
	if expect {
		as = MissCall
	}
	_, misses := e.look(q, a)
	for _, m := range misses {
		if m.Kind == as {
			m.Kind = kind
			if m.Why = "a call, and most answers of the reference have none"; expect {
				m.Why = "no call, and most answers of the reference end in one"
			}
			return m
		}
	}
	return Miss{Kind: kind, Cause: CauseUnknown, How: "the log has another answer"}
}
