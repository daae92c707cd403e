//go:build cloud

package storage

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"sync"
	"time"

	googlestorage "cloud.google.com/go/storage"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/aws/smithy-go/logging"
	gcaws "gocloud.dev/aws"
	"gocloud.dev/blob"
	"gocloud.dev/blob/gcsblob"
	"gocloud.dev/blob/s3blob"
	"gocloud.dev/gcerrors"
	"gocloud.dev/gcp"
	"google.golang.org/api/option"
)

// Available reports whether the program was built with the tag cloud.
const Available = true

// part is how much of an object is sent at once, in bytes: the least that S3 takes.
const part = 5 << 20

// attempts is how often Google is asked for one thing, as S3 is by its SDK.
const attempts = 3

// patience is how long a server may take to begin its answer.
const patience = time.Minute

// bucket is a bucket that is open.
type bucket struct{ *blob.Bucket }

// openBucket opens the bucket of a URL without a path.
func openBucket(ctx context.Context, u *url.URL) (bucket, error) {
	var b *blob.Bucket
	var err error
	switch u.Scheme {
	case "s3":
		b, err = openS3(ctx, u)
	case "gs":
		b, err = openGS(ctx, u)
	default:
		err = fmt.Errorf("there are no buckets of the kind %s, expected s3:// or gs://", u.Scheme)
	}
	return bucket{b}, err
}

// openS3 opens a bucket of S3, or of a server that speaks its protocol. The SDK refuses any part of
// the query that it does not know.
func openS3(ctx context.Context, u *url.URL) (*blob.Bucket, error) {
	query := u.Query()
	pathStyle, err := flag(query, "use_path_style")
	if err != nil {
		return nil, err
	}
	cfg, err := gcaws.V2ConfigFromURLParams(ctx, query)
	if err != nil {
		return nil, err
	}
	var transport http.RoundTripper = http.DefaultTransport
	if c, ok := cfg.HTTPClient.(interface{ GetTransport() *http.Transport }); ok {
		transport = c.GetTransport() // with the certificates of AWS_CA_BUNDLE
	}
	cfg.HTTPClient = &http.Client{Transport: pin(transport)}
	client := s3.NewFromConfig(cfg, func(o *s3.Options) {
		o.UsePathStyle, o.Logger = pathStyle, logging.Nop{}
	})
	return s3blob.OpenBucket(ctx, client, u.Host,
		&s3blob.Options{RequestChecksumCalculation: cfg.RequestChecksumCalculation})
}

// openGS opens a bucket of Google Cloud Storage.
func openGS(ctx context.Context, u *url.URL) (*blob.Bucket, error) {
	query := u.Query()
	anonymous, err := flag(query, "anonymous")
	if err != nil {
		return nil, err
	}
	var options []option.ClientOption
	if endpoint := query.Get("endpoint"); endpoint != "" {
		options = append(options, option.WithEndpoint(endpoint))
	}
	query.Del("endpoint")
	for name := range query {
		return nil, fmt.Errorf("the query has %.40q, expected endpoint or anonymous", name)
	}
	client := gcp.NewAnonymousHTTPClient(pin(http.DefaultTransport))
	if !anonymous {
		found, err := gcp.DefaultCredentials(ctx)
		if err != nil {
			return nil, err
		}
		client, err = gcp.NewHTTPClient(pin(http.DefaultTransport),
			gcp.CredentialsTokenSource(found))
		if err != nil {
			return nil, err
		}
	}
	store, err := googlestorage.NewClient(ctx,
		append(options, option.WithHTTPClient(&client.Client))...)
	if err != nil {
		return nil, err
	}
	store.SetRetry(googlestorage.WithMaxAttempts(attempts)) // without a bound it tries for ever
	return gcsblob.OpenBucket(ctx, nil, u.Host, &gcsblob.Options{Client: store})
}

// flag takes a truth value out of a query.
func flag(query url.Values, name string) (bool, error) {
	text := query.Get(name)
	query.Del(name)
	if text == "" {
		return false, nil
	}
	on, err := strconv.ParseBool(text)
	if err != nil {
		return false, fmt.Errorf("%s is %.40q, expected true or false", name, text)
	}
	return on, nil
}

// pinned sends requests to the host of the first one and to no other, so that no answer leads
// credentials elsewhere: a redirection takes a session's token along, and an OAuth transport adds
// its own to every request.
type pinned struct {
	http.RoundTripper
	mu   sync.Mutex
	host string // with the scheme; "": there was no request
}

func pin(transport http.RoundTripper) *pinned {
	if t, ok := transport.(*http.Transport); ok {
		t = t.Clone()
		t.ResponseHeaderTimeout = patience
		transport = t
	}
	return &pinned{RoundTripper: transport}
}

// RoundTrip implements http.RoundTripper.
func (p *pinned) RoundTrip(r *http.Request) (*http.Response, error) {
	host := r.URL.Scheme + "://" + r.URL.Host
	p.mu.Lock()
	if p.host == "" {
		p.host = host
	}
	allowed := p.host
	p.mu.Unlock()
	if host != allowed {
		if r.Body != nil {
			r.Body.Close()
		}
		return nil, &elsewhere{allowed, host}
	}
	return p.RoundTripper.RoundTrip(r)
}

// elsewhere is the error of a request that was led to another host.
type elsewhere struct{ from, to string }

// Error implements error.
func (e *elsewhere) Error() string {
	return fmt.Sprintf("%s leads to %.200s, and credentials go to no other host; name the bucket's "+
		"own region or endpoint in the URL", e.from, e.to)
}

// RetryableError tells the SDK that another try is no help.
func (e *elsewhere) RetryableError() bool { return false }

// cause reports whether an object is missing, and whether another try may help.
func cause(err error) (missing, again bool) {
	var led *elsewhere
	if errors.As(err, &led) {
		return false, false
	}
	switch gcerrors.Code(err) {
	case gcerrors.NotFound:
		return true, false
	case gcerrors.PermissionDenied, gcerrors.InvalidArgument, gcerrors.FailedPrecondition,
		gcerrors.Unimplemented:
		return false, false
	}
	return false, true
}

func (b bucket) read(ctx context.Context, key string) (io.ReadCloser, error) {
	return b.NewReader(ctx, key, nil)
}

func (b bucket) exists(ctx context.Context, key string) (bool, error) {
	return b.Exists(ctx, key)
}

// write writes an object. Where the context ends first, it does not appear.
func (b bucket) write(ctx context.Context, key string, write func(io.Writer) error) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	w, err := b.NewWriter(ctx, key, &blob.WriterOptions{BufferSize: part, MaxConcurrency: 1})
	if err != nil {
		return err
	}
	if err := write(w); err != nil {
		cancel()
		return errors.Join(err, w.Close())
	}
	return w.Close()
}

// list hands on the keys of objects with a prefix, and no further slash, in order.
func (b bucket) list(ctx context.Context, prefix string, take func(key string)) error {
	for all := b.List(&blob.ListOptions{Prefix: prefix, Delimiter: "/"}); ; {
		o, err := all.Next(ctx)
		switch {
		case err == io.EOF:
			return nil
		case err != nil:
			return err
		case !o.IsDir:
			take(o.Key)
		}
	}
}
