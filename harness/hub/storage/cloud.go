//go:build cloud

package storage

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
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

	"github.com/goassay/assay/engine/model/patience"
)

// Available reports whether the program was built with the tag cloud.
const Available = true

// part is how much of an object is sent at once, in bytes: the least that S3 takes.
const part = 5 << 20

// attempts is how often Google is asked for one thing, as S3 is by its SDK.
const attempts = 3

// The bounds of an answer. Those of package patience alone hold for the content of an object.
const (
	// of an answer that is no content, in bytes: a page of a listing, an error. Clients take up to
	// two hundred times as much memory to read it.
	maxAnswer = 2 << 20
	pageSize  = 200       // keys on a page; a key has at most 1024 bytes
	maxKeys   = 1_000_000 // in a listing
)

// bucket is a bucket that is open.
type bucket struct{ *blob.Bucket }

// openBucket opens the bucket of a URL without a path, whose server may be silent for so long.
func openBucket(ctx context.Context, u *url.URL, silence time.Duration) (bucket, error) {
	var b *blob.Bucket
	var err error
	switch u.Scheme {
	case "s3":
		b, err = openS3(ctx, u, silence)
	case "gs":
		b, err = openGS(ctx, u, silence)
	default:
		err = fmt.Errorf("there are no buckets of the kind %s, expected s3:// or gs://", u.Scheme)
	}
	return bucket{b}, err
}

// openS3 opens a bucket of S3, or of a server that speaks its protocol. The SDK refuses any part of
// the query that it does not know.
func openS3(ctx context.Context, u *url.URL, silence time.Duration) (*blob.Bucket, error) {
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
	cfg.HTTPClient = &http.Client{Transport: pin(transport, silence)}
	client := s3.NewFromConfig(cfg, func(o *s3.Options) {
		o.UsePathStyle, o.Logger = pathStyle, logging.Nop{}
	})
	return s3blob.OpenBucket(ctx, client, u.Host,
		&s3blob.Options{RequestChecksumCalculation: cfg.RequestChecksumCalculation})
}

// openGS opens a bucket of Google Cloud Storage.
func openGS(ctx context.Context, u *url.URL, silence time.Duration) (*blob.Bucket, error) {
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
	client := gcp.NewAnonymousHTTPClient(pin(http.DefaultTransport, silence))
	if !anonymous {
		found, err := gcp.DefaultCredentials(ctx)
		if err != nil {
			return nil, err
		}
		client, err = gcp.NewHTTPClient(pin(http.DefaultTransport, silence),
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
	silence time.Duration // that an answer may have in it
	mu      sync.Mutex
	host    string // with the scheme; "": there was no request
}

func pin(transport http.RoundTripper, silence time.Duration) *pinned {
	if t, ok := transport.(*http.Transport); ok {
		t = t.Clone()
		t.ResponseHeaderTimeout = silence
		t.DisableCompression = true // a thousandth of an answer would earn time for all of it
		transport = t
	}
	return &pinned{RoundTripper: transport, silence: silence}
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
	return p.watched(r)
}

type contentKey struct{}

// content returns a context whose answers are the content of an object, of any length.
func content(ctx context.Context) context.Context {
	return context.WithValue(ctx, contentKey{}, true)
}

// watched sends a request, and bounds its answer in time and, unless it is content, in bytes. What
// is sent earns time as well.
func (p *pinned) watched(r *http.Request) (*http.Response, error) {
	budget := patience.Of(r.Context())
	spend := func(waited time.Duration, came, requests int) error {
		if err := budget.Spend(waited, came, requests); err != nil {
			return &given{fmt.Errorf("%s %w", r.URL.Host, err)}
		}
		return nil
	}
	sent := max(0, r.ContentLength)
	if err := spend(0, int(sent), 1); err != nil {
		if r.Body != nil {
			r.Body.Close()
		}
		return nil, err
	}
	start := time.Now()
	ctx, dog := patience.Watch(r.Context(), p.silence, patience.ErrSilent)
	dog.Rest() // ResponseHeaderTimeout keeps it: a body may take long to send
	resp, err := p.RoundTripper.RoundTrip(r.WithContext(ctx))
	late := spend(time.Since(start), 0, 0)
	if err == nil && late != nil {
		resp.Body.Close()
		err = late
	}
	if err == nil && resp.ContentLength < 0 && len(resp.TransferEncoding) == 0 &&
		resp.ProtoMajor == 1 {
		resp.Body.Close()
		err = &given{fmt.Errorf("%s does not tell where its answer ends", r.URL.Host)}
	}
	if err != nil {
		dog.Stop()
		return nil, err
	}
	most := int64(maxAnswer)
	if r.Context().Value(contentKey{}) != nil && resp.StatusCode < 300 {
		most = math.MaxInt64
	}
	resp.Body = &bounded{&patience.Body{ReadCloser: resp.Body, Dog: dog, Now: time.Now,
		Fail: func(err error) error {
			if context.Cause(ctx) == patience.ErrSilent {
				return &given{fmt.Errorf("%s has sent nothing for %v", r.URL.Host, p.silence)}
			}
			return err
		},
		Took: func(waited time.Duration, came int) error { return spend(waited, came, 0) },
	}, most, r.URL.Host}
	return resp, nil
}

// bounded is an answer's body that ends in an error beyond so many bytes.
type bounded struct {
	io.ReadCloser
	left int64
	host string
}

// Read implements io.Reader.
func (b *bounded) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	if b.left -= int64(n); b.left < 0 {
		return 0, &given{fmt.Errorf("%s answers with more than %d MiB where no content was asked "+
			"for", b.host, maxAnswer>>20)}
	}
	return n, err
}

// given is the error of a server that is given up.
type given struct{ error }

// RetryableError tells the SDK that another try is no help.
func (g *given) RetryableError() bool { return false }

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
	if errors.As(err, &led) || errors.Is(err, errListing) {
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
	return b.NewReader(content(ctx), key, nil)
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

// errListing is the error of a listing that cannot be one of the bucket.
var errListing = errors.New("it is given up")

// list hands on the keys of objects with a prefix, and no further slash, in order.
func (b bucket) list(ctx context.Context, prefix string, take func(key string)) error {
	var keys []string
	seen := map[string]bool{}
	for token := blob.FirstPageToken; token != nil; {
		found, next, err := b.ListPage(ctx, token, pageSize,
			&blob.ListOptions{Prefix: prefix, Delimiter: "/"})
		if err != nil {
			return err
		}
		if token = next; len(token) == 0 {
			token = nil
		}
		for _, o := range found {
			name, below := strings.CutPrefix(o.Key, prefix)
			switch {
			case !below || strings.Contains(strings.TrimSuffix(name, "/"), "/"):
				return fmt.Errorf("a listing of %q has %.200q: %w", prefix, o.Key, errListing)
			case seen[o.Key]:
				return fmt.Errorf("a listing has %.200q twice: %w", o.Key, errListing)
			case len(seen) == maxKeys:
				return fmt.Errorf("a listing has more than %d keys: %w", maxKeys, errListing)
			}
			seen[o.Key] = true
			if !o.IsDir && name != "" {
				keys = append(keys, o.Key)
			}
		}
	}
	for _, key := range slices.Sorted(slices.Values(keys)) {
		take(key)
	}
	return nil
}
