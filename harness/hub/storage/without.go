//go:build !cloud

package storage

import (
	"context"
	"errors"
	"io"
	"net/url"
	"time"
)

// Available reports whether the program was built with the tag cloud.
const Available = false

// bucket is never opened.
type bucket struct{}

func openBucket(context.Context, *url.URL, time.Duration) (bucket, error) {
	return bucket{}, errNotBuilt
}

var errNotBuilt = errors.New("this program cannot reach buckets; take the archive assay_cloud of " +
	"a release, or build it with `go build -tags cloud ./cmd/assay`")

func cause(error) (missing, again bool) { return false, false }

func (bucket) read(context.Context, string) (io.ReadCloser, error) { return nil, errNotBuilt }

func (bucket) exists(context.Context, string) (bool, error) { return false, errNotBuilt }

func (bucket) write(context.Context, string, func(io.Writer) error) error { return errNotBuilt }

func (bucket) list(context.Context, string, func(string)) error { return errNotBuilt }
