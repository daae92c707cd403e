// Package storagetest has buckets on loopback, for tests: a server that speaks as much of the
// protocols of S3 and of Google Cloud Storage as package storage uses, and that can fail.
//
// # Model
//
// A [Server] is an http.Handler. Objects of both protocols lie in the same map, by BUCKET/KEY. It
// refuses requests without the credentials that it expects, counts what it is asked, and hands each
// request to Fault first.
//
// # Specifications followed
//
// https://docs.aws.amazon.com/AmazonS3/latest/API/ (GetObject, HeadObject, PutObject, ListObjectsV2
// and multipart uploads, with the bucket in the path);
// https://cloud.google.com/storage/docs/json_api/v1 and its downloads at /BUCKET/KEY.
//
// # Stability
//
// This package may change with every release; package engine lists the stable ones.
package storagetest

import (
	"crypto/md5"
	"encoding/base64"
	"encoding/json"
	"encoding/xml"
	"fmt"
	"hash/crc32"
	"io"
	"maps"
	"mime"
	"mime/multipart"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"
)

// page is how many keys a listing has.
const page = 3

// Server is the handler. The zero value has no objects and lets everyone in.
type Server struct {
	// Expected is a text that the Authorization header of each request must have.
	Expected string
	// Fault, where it is not nil, may answer a request itself, and reports whether it did.
	Fault func(w http.ResponseWriter, r *http.Request) bool

	mu      sync.Mutex
	objects map[string][]byte // by BUCKET/KEY
	uploads map[string]map[int][]byte
	asked   []string // the method and path of each request
}

// Objects returns the objects by BUCKET/KEY.
func (s *Server) Objects() map[string]string {
	s.mu.Lock()
	defer s.mu.Unlock()
	all := map[string]string{}
	for name, text := range s.objects {
		all[name] = string(text)
	}
	return all
}

// Put makes an object, or replaces it.
func (s *Server) Put(name, text string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.put(name, []byte(text))
}

// Remove removes an object.
func (s *Server) Remove(name string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.objects, name)
}

// Asked returns the method and the path of each request so far.
func (s *Server) Asked() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.asked)
}

func (s *Server) put(name string, text []byte) {
	if s.objects == nil {
		s.objects = map[string][]byte{}
	}
	s.objects[name] = text
}

// ServeHTTP implements http.Handler.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	s.asked = append(s.asked, r.Method+" "+r.URL.Path)
	s.mu.Unlock()
	if s.Fault != nil && s.Fault(w, r) {
		return
	}
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return // the client gave up: nothing is kept
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	google, upload := strings.CutPrefix(r.URL.Path, "/upload/storage/v1/b/")
	if !upload {
		google, _ = strings.CutPrefix(r.URL.Path, "/storage/v1/b/")
	}
	switch {
	case !strings.Contains(r.Header.Get("Authorization"), s.Expected):
		refuse(w, http.StatusForbidden, "AccessDenied")
	case upload:
		s.googleUpload(w, r, strings.TrimSuffix(google, "/o"), body)
	case google != r.URL.Path:
		bucket, key, _ := strings.Cut(google, "/o")
		s.google(w, r, bucket, strings.TrimPrefix(key, "/"))
	case r.URL.Query().Has("list-type"):
		s.list(w, r, strings.Trim(r.URL.Path, "/"))
	default:
		s.s3(w, r, strings.TrimPrefix(r.URL.Path, "/"), body)
	}
}

// refuse answers with an error that both protocols' clients read by its status.
func refuse(w http.ResponseWriter, status int, code string) {
	w.Header().Set("Content-Type", "application/xml")
	w.WriteHeader(status)
	fmt.Fprintf(w, "<Error><Code>%s</Code><Message>refused</Message></Error>", code)
}

// s3 answers a request for an object of S3, and downloads of Google.
func (s *Server) s3(w http.ResponseWriter, r *http.Request, name string, body []byte) {
	query := r.URL.Query()
	id := query.Get("uploadId")
	switch {
	case r.Method == http.MethodPut && id != "":
		n, _ := strconv.Atoi(query.Get("partNumber"))
		s.uploads[id][n] = body
		w.Header().Set("ETag", tag(body))
	case r.Method == http.MethodPut:
		s.put(name, body)
		w.Header().Set("ETag", tag(body))
	case r.Method == http.MethodPost && query.Has("uploads"):
		if s.uploads == nil {
			s.uploads = map[string]map[int][]byte{}
		}
		id := fmt.Sprint("upload-", len(s.uploads))
		s.uploads[id] = map[int][]byte{}
		fmt.Fprintf(w, "<InitiateMultipartUploadResult><UploadId>%s</UploadId>"+
			"</InitiateMultipartUploadResult>", id)
	case r.Method == http.MethodPost:
		var whole []byte
		for _, n := range slices.Sorted(maps.Keys(s.uploads[id])) {
			whole = append(whole, s.uploads[id][n]...)
		}
		s.put(name, whole)
		fmt.Fprintf(w, "<CompleteMultipartUploadResult><ETag>%s</ETag>"+
			"</CompleteMultipartUploadResult>", "x")
	case r.Method == http.MethodDelete:
		w.WriteHeader(http.StatusNoContent)
	default:
		text, found := s.objects[name]
		if !found {
			refuse(w, http.StatusNotFound, "NoSuchKey")
			return
		}
		w.Header().Set("ETag", tag(text))
		w.Header().Set("Last-Modified", time.Unix(0, 0).UTC().Format(http.TimeFormat))
		w.Header().Set("Content-Length", strconv.Itoa(len(text)))
		w.Header().Set("X-Goog-Generation", "1")
		w.Header().Set("X-Goog-Metageneration", "1")
		if r.Method == http.MethodGet {
			w.Write(text)
		}
	}
}

func tag(text []byte) string { return fmt.Sprintf("%q", fmt.Sprintf("%x", md5.Sum(text))) }

// keys returns a page of the keys of a bucket and of their folders, up to a slash, and the mark of
// the next page.
func (s *Server) keys(bucket, prefix, after string) (keys, folders []string, next string) {
	for _, name := range slices.Sorted(maps.Keys(s.objects)) {
		key, mine := strings.CutPrefix(name, bucket+"/")
		rest, below := strings.CutPrefix(key, prefix)
		if !mine || !below || key <= after {
			continue
		}
		folder, _, deeper := strings.Cut(rest, "/")
		switch {
		case deeper && slices.Contains(folders, prefix+folder+"/"):
		case len(keys)+len(folders) == page:
			return keys, folders, passed(keys, folders)
		case deeper:
			folders = append(folders, prefix+folder+"/")
		default:
			keys = append(keys, key)
		}
	}
	return keys, folders, ""
}

// passed is a text after the keys of a page, and after all that is in its folders.
func passed(keys, folders []string) string {
	last := ""
	for _, key := range keys {
		last = max(last, key)
	}
	for _, folder := range folders {
		last = max(last, folder+"\xff")
	}
	return last
}

// list answers ListObjectsV2.
func (s *Server) list(w http.ResponseWriter, r *http.Request, bucket string) {
	type content struct {
		Key          string
		Size         int
		ETag         string
		LastModified string
	}
	type folder struct{ Prefix string }
	var answer struct {
		XMLName               xml.Name `xml:"ListBucketResult"`
		IsTruncated           bool
		NextContinuationToken string `xml:",omitempty"`
		Contents              []content
		CommonPrefixes        []folder
	}
	query := r.URL.Query()
	after, _ := base64.URLEncoding.DecodeString(query.Get("continuation-token"))
	keys, folders, next := s.keys(bucket, query.Get("prefix"), string(after))
	answer.IsTruncated = next != ""
	answer.NextContinuationToken = base64.URLEncoding.EncodeToString([]byte(next))
	for _, key := range keys {
		text := s.objects[bucket+"/"+key]
		answer.Contents = append(answer.Contents, content{key, len(text), tag(text),
			"1970-01-01T00:00:00.000Z"})
	}
	for _, name := range folders {
		answer.CommonPrefixes = append(answer.CommonPrefixes, folder{name})
	}
	w.Header().Set("Content-Type", "application/xml")
	xml.NewEncoder(w).Encode(answer)
}

// attributes is an object as Google's interface describes it.
func (s *Server) attributes(bucket, key string) map[string]any {
	text := s.objects[bucket+"/"+key]
	sum := crc32.Checksum(text, crc32.MakeTable(crc32.Castagnoli))
	return map[string]any{"kind": "storage#object", "bucket": bucket, "name": key,
		"size": strconv.Itoa(len(text)), "generation": "1", "metageneration": "1",
		"updated": "1970-01-01T00:00:00Z", "etag": tag(text),
		"crc32c": base64.StdEncoding.EncodeToString([]byte{byte(sum >> 24), byte(sum >> 16),
			byte(sum >> 8), byte(sum)})}
}

// google answers requests for an object's attributes or content, and for lists.
func (s *Server) google(w http.ResponseWriter, r *http.Request, bucket, key string) {
	query := r.URL.Query()
	switch text, found := s.objects[bucket+"/"+key]; {
	case key == "":
		after, _ := base64.URLEncoding.DecodeString(query.Get("pageToken"))
		keys, folders, next := s.keys(bucket, query.Get("prefix"), string(after))
		items := []any{}
		for _, key := range keys {
			items = append(items, s.attributes(bucket, key))
		}
		answer := map[string]any{"kind": "storage#objects", "items": items, "prefixes": folders}
		if next != "" {
			answer["nextPageToken"] = base64.URLEncoding.EncodeToString([]byte(next))
		}
		json.NewEncoder(w).Encode(answer)
	case !found:
		w.WriteHeader(http.StatusNotFound)
		fmt.Fprint(w, `{"error": {"code": 404, "message": "No such object"}}`)
	case query.Get("alt") == "media":
		w.Header().Set("X-Goog-Generation", "1")
		w.Write(text)
	default:
		json.NewEncoder(w).Encode(s.attributes(bucket, key))
	}
}

// googleUpload answers uploads of one request, and resumable ones.
func (s *Server) googleUpload(w http.ResponseWriter, r *http.Request, bucket string, body []byte) {
	query := r.URL.Query()
	id := query.Get("upload_id")
	switch {
	case id != "":
		bucket, key, _ := strings.Cut(id, "/")
		text := append(s.uploads[id][0], body...)
		s.uploads[id][0] = text
		if strings.HasSuffix(r.Header.Get("Content-Range"), "/*") {
			w.Header().Set("X-Http-Status-Code-Override", "308")
			w.Header().Set("Range", fmt.Sprintf("bytes=0-%d", len(text)-1))
			w.WriteHeader(http.StatusOK)
			return
		}
		s.put(id, text)
		json.NewEncoder(w).Encode(s.attributes(bucket, key))
	case query.Get("uploadType") == "resumable":
		var about struct{ Name string }
		json.Unmarshal(body, &about)
		id := bucket + "/" + about.Name
		if s.uploads == nil {
			s.uploads = map[string]map[int][]byte{}
		}
		s.uploads[id] = map[int][]byte{}
		query.Set("upload_id", id)
		w.Header().Set("Location", "http://"+r.Host+r.URL.Path+"?"+query.Encode())
	default:
		_, params, _ := mime.ParseMediaType(r.Header.Get("Content-Type"))
		parts := multipart.NewReader(strings.NewReader(string(body)), params["boundary"])
		var about struct{ Name string }
		first, err := parts.NextPart()
		if err == nil {
			err = json.NewDecoder(first).Decode(&about)
		}
		var text []byte
		if err == nil {
			first, err = parts.NextPart()
		}
		if err == nil {
			text, err = io.ReadAll(first)
		}
		if err != nil {
			refuse(w, http.StatusBadRequest, "InvalidArgument")
			return
		}
		s.put(bucket+"/"+about.Name, text)
		json.NewEncoder(w).Encode(s.attributes(bucket, about.Name))
	}
}
