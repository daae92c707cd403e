// Package batch does work on all cores and hands the results on in the order of the work, with a
// bounded number of pieces in flight: memory does not grow with the work, and the output does not
// depend on the schedule.
//
// # Stability
//
// This package may change with every release; package engine lists the stable ones.
package batch

import (
	"context"
	"errors"
	"io"
	"runtime"

	"golang.org/x/sync/errgroup"
)

// ahead is how many pieces are begun ahead of the one whose result is due, for each core.
const ahead = 64

// Run does the work that next returns until its error, which is [io.EOF] at the end, or until the
// context ends; work that was begun then is finished. It hands every result to take, in order and
// by one goroutine at a time, and returns next's error unless that is io.EOF, or why the context
// ended.
func Run[In, Out any](ctx context.Context, next func() (In, error), do func(In) Out,
	take func(Out)) error {
	cores := runtime.GOMAXPROCS(0)
	due := make(chan chan Out, ahead*cores)
	var failed error
	go func() {
		defer close(due)
		var group errgroup.Group
		group.SetLimit(cores)
		defer group.Wait() // no error is ever returned
		for ctx.Err() == nil {
			in, err := next()
			if err != nil {
				failed = err
				return
			}
			one := make(chan Out, 1)
			due <- one
			group.Go(func() error {
				one <- do(in)
				return nil
			})
		}
		failed = context.Cause(ctx)
	}()
	for one := range due {
		take(<-one)
	}
	if errors.Is(failed, io.EOF) {
		return nil
	}
	return failed
}

// Slice returns a next for the items of a slice.
func Slice[T any](items []T) func() (T, error) {
	return func() (item T, err error) {
		if len(items) == 0 {
			return item, io.EOF
		}
		item, items = items[0], items[1:]
		return item, nil
	}
}
