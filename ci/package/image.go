package main

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io/fs"
	"os"
)

// certificates are the roots of trust for `assay pull`, as the machine has them that builds the
// release.
const certificates = "/etc/ssl/certs/ca-certificates.crt"

// nobody is the user that the image runs as.
const nobody = 65532

// descriptor names a blob (OCI image specification, version 1.1).
type descriptor struct {
	MediaType string         `json:"mediaType"`
	Digest    string         `json:"digest"`
	Size      int            `json:"size"`
	Platform  map[string]any `json:"platform,omitempty"`

	Annotations map[string]string `json:"annotations,omitempty"`
}

// layout is an OCI layout while it is filled: blobs by digest.
type layout struct{ files []file }

// add adds a blob.
func (l *layout) add(kind string, text []byte) descriptor {
	sum := sha256.Sum256(text)
	digest := hex.EncodeToString(sum[:])
	l.files = append(l.files, file{"blobs/sha256/" + digest, text, 0o644})
	return descriptor{MediaType: "application/vnd.oci.image." + kind, Digest: "sha256:" + digest,
		Size: len(text)}
}

// addJSON adds a blob that is a value in JSON.
func (l *layout) addJSON(kind string, value any) (descriptor, error) {
	text, err := json.Marshal(value)
	return l.add(kind, text), err
}

// image writes the container image of an edition: for each platform one layer with the static
// binary, certificates, a user that is nobody, and /tmp. It is an OCI layout in a tar file, which
// skopeo, podman and docker load.
func (r *release) image(all []built) error {
	roots, err := os.ReadFile(certificates)
	if err != nil {
		return fmt.Errorf("the image takes the machine's certificates: %w", err)
	}
	var l layout
	var manifests []descriptor
	for _, b := range all {
		layer, err := tarred([]file{
			{"etc/", nil, 0o755}, {"etc/ssl/", nil, 0o755}, {"etc/ssl/certs/", nil, 0o755},
			{"etc/ssl/certs/ca-certificates.crt", roots, 0o644},
			{"etc/passwd", fmt.Appendf(nil, "nobody:x:%d:%d::/tmp:/\n", nobody, nobody), 0o644},
			{"tmp/", nil, 0o777 | fs.ModeSticky},
			{"usr/", nil, 0o755}, {"usr/bin/", nil, 0o755}, {"usr/bin/assay", b.text, 0o755},
			{"work/", nil, 0o755},
		})
		if err != nil {
			return err
		}
		unpacked := sha256.Sum256(layer)
		if layer, err = gzipped(layer); err != nil {
			return err
		}
		config, err := l.addJSON("config.v1+json", map[string]any{
			"architecture": b.arch, "os": b.os, "created": epoch,
			"config": map[string]any{
				"User":       fmt.Sprintf("%d:%d", nobody, nobody),
				"Entrypoint": []string{"/usr/bin/assay"}, "Cmd": []string{"help"},
				"Env":        []string{"PATH=/usr/bin", "HOME=/tmp"},
				"WorkingDir": "/work",
				"Labels": map[string]string{
					"org.opencontainers.image.source":   "https://github.com/goassay/assay",
					"org.opencontainers.image.version":  r.version,
					"org.opencontainers.image.licenses": "Apache-2.0",
				},
			},
			"rootfs": map[string]any{"type": "layers",
				"diff_ids": []string{"sha256:" + hex.EncodeToString(unpacked[:])}},
		})
		if err != nil {
			return err
		}
		manifest, err := l.addJSON("manifest.v1+json", map[string]any{
			"schemaVersion": 2, "mediaType": "application/vnd.oci.image.manifest.v1+json",
			"config": config, "layers": []descriptor{l.add("layer.v1.tar+gzip", layer)},
		})
		if err != nil {
			return err
		}
		manifest.Platform = map[string]any{"os": b.os, "architecture": b.arch}
		manifests = append(manifests, manifest)
	}
	index, err := l.addJSON("index.v1+json", map[string]any{
		"schemaVersion": 2, "mediaType": "application/vnd.oci.image.index.v1+json", "manifests": manifests,
	})
	if err != nil {
		return err
	}
	index.Annotations = map[string]string{"org.opencontainers.image.ref.name": r.version}
	top, err := json.Marshal(map[string]any{"schemaVersion": 2, "manifests": []descriptor{index}})
	if err != nil {
		return err
	}
	text, err := tarred(append([]file{
		{"oci-layout", []byte(`{"imageLayoutVersion":"1.0.0"}`), 0o644},
		{"index.json", top, 0o644},
	}, l.files...))
	if err != nil {
		return err
	}
	return r.write(all[0].name+"_"+r.version+"_image.tar", text)
}
