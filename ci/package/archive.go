package main

import (
	"archive/tar"
	"archive/zip"
	"bytes"
	"compress/flate"
	"compress/gzip"
	"fmt"
	"io"
	"io/fs"
	"slices"
	"strings"
	"time"
)

// file is a file of an archive.
type file struct {
	name string // with slashes
	text []byte
	mode fs.FileMode
}

// epoch is the date of every file in every archive, the earliest that zip can write: two builds of
// a commit give the same bytes.
var epoch = time.Date(1980, 1, 1, 0, 0, 0, 0, time.UTC)

// archive writes the archive of a platform.
func (r *release) archive(b built) error {
	return r.pack(b.name, b.platform, append([]file{{b.binary(), b.text, 0o755}}, b.shared...))
}

// libraryArchive writes the archive of the C library and its header, where there is one.
func (r *release) libraryArchive(b built) error {
	if b.library == nil {
		return nil
	}
	texts, err := r.files("", 0o644, "cmd/libassay/assay.h", "LICENSE", "NOTICE")
	if err != nil {
		return err
	}
	texts[0].name = "assay.h"
	return r.pack("libassay", b.platform, append(texts, file{b.libassay(), b.library, 0o755}))
}

// pack writes an archive of files for a platform, in a form that tar and Windows' Explorer open,
// all in one folder.
func (r *release) pack(name string, p platform, files []file) error {
	folder := fmt.Sprintf("%s_%s_%s_%s", name, r.version, p.os, p.arch)
	files = under(folder, files)
	if p.os == "windows" {
		text, err := zipped(files)
		if err != nil {
			return err
		}
		return r.write(folder+".zip", text)
	}
	return r.writeTar(folder+".tar.gz", files)
}

// under returns the files in a folder.
func under(folder string, files []file) []file {
	files = slices.Clone(files)
	for i := range files {
		files[i].name = folder + "/" + files[i].name
	}
	return files
}

// writeTar writes files as a compressed tar archive of a name.
func (r *release) writeTar(name string, files []file) error {
	text, err := tarred(files)
	if err == nil {
		text, err = gzipped(text)
	}
	if err != nil {
		return err
	}
	return r.write(name, text)
}

// tarred returns a tar archive; a file whose name ends in a slash is a folder.
func tarred(files []file) ([]byte, error) {
	var out bytes.Buffer
	w := tar.NewWriter(&out)
	for _, f := range files {
		h := &tar.Header{Name: f.name, Mode: int64(f.mode.Perm()), Size: int64(len(f.text)),
			ModTime: epoch, Format: tar.FormatPAX}
		if f.mode&fs.ModeSticky != 0 {
			h.Mode |= 0o1000
		}
		if strings.HasSuffix(f.name, "/") {
			h.Typeflag = tar.TypeDir
		}
		if err := w.WriteHeader(h); err != nil {
			return nil, err
		}
		if _, err := w.Write(f.text); err != nil {
			return nil, err
		}
	}
	err := w.Close()
	return out.Bytes(), err
}

func gzipped(text []byte) ([]byte, error) {
	var out bytes.Buffer
	w, err := gzip.NewWriterLevel(&out, gzip.BestCompression)
	if err != nil {
		return nil, err
	}
	if _, err := w.Write(text); err != nil {
		return nil, err
	}
	err = w.Close()
	return out.Bytes(), err
}

// zipped returns a zip archive, in the order of the files.
func zipped(files []file) ([]byte, error) {
	var out bytes.Buffer
	w := zip.NewWriter(&out)
	w.RegisterCompressor(zip.Deflate, func(to io.Writer) (io.WriteCloser, error) {
		return flate.NewWriter(to, flate.BestCompression)
	})
	for _, f := range files {
		h := &zip.FileHeader{Name: f.name, Method: zip.Deflate, Modified: epoch}
		h.SetMode(f.mode)
		to, err := w.CreateHeader(h)
		if err != nil {
			return nil, err
		}
		if _, err := to.Write(f.text); err != nil {
			return nil, err
		}
	}
	err := w.Close()
	return out.Bytes(), err
}
