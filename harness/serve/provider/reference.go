package provider

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"hash/fnv"
	"io"

	"github.com/goassay/assay/engine/ordered"
	"github.com/goassay/assay/harness/serve/provider/dataset"
)

// ReadReference reads the answers that a run is compared with: a log of another run over the same
// data set, or the results of another verifier over it, whose answers are judged here. open opens
// the data set.
func (e *Explainer) ReadReference(r io.Reader, own *Table,
	open func() (io.ReadCloser, error)) (*Table, error) {
	in := bufio.NewReaderSize(r, 1<<16)
	line, err := readLine(in)
	if errors.Is(err, io.EOF) {
		return nil, errNoHeader
	} else if err != nil {
		return nil, err
	}
	foreign := dataset.IsResult(line)
	whole := io.MultiReader(bytes.NewReader(append(bytes.Clone(line), '\n')), in)
	if foreign {
		return e.results(whole, own, open)
	}
	t, err := ReadTable(whole)
	if err != nil {
		return nil, err
	}
	return t, paired(own, t)
}

// results reads the results of another verifier.
func (e *Explainer) results(r io.Reader, own *Table,
	open func() (io.ReadCloser, error)) (*Table, error) {
	t := newTable(Header{Dataset: own.Dataset, Requests: own.Requests, Repeats: 1, Send: Batch})
	digests := make([]uint64, own.Requests)
	in := dataset.NewResults(r)
	for {
		result, err := in.Next()
		if errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			return nil, err
		}
		if result.N >= own.Requests {
			continue // the run asks fewer
		}
		digests[result.N] = conversation(result.Body)
		o := Outcome{State: Failed, Tries: 1}
		q, err := newQuestion(result.Body, result.Expect)
		if err != nil {
			return nil, err
		}
		if a, err := readAnswer(result.Answer); err == nil {
			var misses []Miss
			o, misses = e.look(q, a)
			o.Tries = 1
			t.Misses.add(fmt.Sprint(result.N+1), misses)
		}
		t.Outcomes[result.N] = o
	}
	return t, e.matches(digests, open)
}

// matches returns an error where results are of other requests than the data set's.
func (e *Explainer) matches(digests []uint64, open func() (io.ReadCloser, error)) error {
	f, err := open()
	if err != nil {
		return err
	}
	defer f.Close()
	in := dataset.NewReader(f)
	for n, digest := range digests {
		request, err := in.Next()
		if err != nil {
			return fmt.Errorf("the data set: %w", err)
		}
		if digest != 0 && digest != conversation(request.Body) {
			return fmt.Errorf("the result with data_index %d is of another request than line %d "+
				"of the data set: it is of another data set", n+1, n+1)
		}
	}
	return nil
}

// conversation is a digest of the messages of a request, without the ids of calls, which verifiers
// rewrite.
func conversation(body ordered.Value) uint64 {
	h := fnv.New64a()
	for _, m := range body.At("messages").Items() {
		fmt.Fprintf(h, "%q %q\n", m.At("role").Text(), m.At("content").String())
	}
	return h.Sum64()
}
