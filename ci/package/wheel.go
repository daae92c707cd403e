package main

import (
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"fmt"
	"strings"
)

// python returns the version as PEP 440 spells it.
func python(version string) string { return strings.Replace(version, "-dev", ".dev0", 1) }

// each builds for each platform and writes a part of the release.
func (r *release) each(chosen []platform, build func(platform, edition) (built, error),
	write func(built) error) error {
	for _, p := range chosen {
		b, err := build(p, usual)
		if err == nil {
			err = write(b)
		}
		if err != nil {
			return fmt.Errorf("%s: %w", p, err)
		}
	}
	return nil
}

// wheel writes the wheel of a platform (PEP 427): the Python package, the binary and the library in
// it, and the two commands, which run the binary. Where the library cannot be loaded, as with musl,
// the package does without it.
func (r *release) wheel(b built) error {
	files, err := r.files("ci/package/python", 0o644, "assay_chat/*.py", "assay_chat/py.typed")
	readme, readmeErr := r.read("ci/package/python/README.md")
	licences, licencesErr := r.files("", 0o644, "LICENSE", "NOTICE")
	if err := errors.Join(err, readmeErr, licencesErr); err != nil {
		return err
	}
	files = append(files, file{"assay_chat/" + b.binary(), b.text, 0o755})
	if b.library != nil {
		files = append(files, file{"assay_chat/" + b.libassay(), b.library, 0o755})
	}
	info := fmt.Sprintf("assay_chat-%s.dist-info", python(r.version))
	about := fmt.Sprintf(`Metadata-Version: 2.1
Name: assay-chat
Version: %s
Summary: Tests what a chat template really does: checks, diffs, prompts, streaming parsers
License: Apache-2.0
Project-URL: Source, https://github.com/goassay/assay
Keywords: chat template,jinja,tool calling,llm
Classifier: Framework :: Pytest
Classifier: Typing :: Typed
Requires-Python: >=3.10
Description-Content-Type: text/markdown

%s`, python(r.version), readme)
	tags := "Wheel-Version: 1.0\nGenerator: assay\nRoot-Is-Purelib: false\n"
	for _, tag := range strings.Split(b.wheel, ".") {
		tags += "Tag: py3-none-" + tag + "\n"
	}
	files = append(append(files, under(info+"/licenses", licences)...),
		file{info + "/METADATA", []byte(about), 0o644},
		file{info + "/WHEEL", []byte(tags), 0o644},
		file{info + "/entry_points.txt", []byte("[console_scripts]\nassay = assay_chat.__main__:main\nassay-chat = assay_chat.__main__:main\n\n" +
			"[pytest11]\nassay = assay_chat.pytest_plugin\n\n" +
			"[vllm.general_plugins]\nassay = assay_chat.vllm:register\n\n" +
			"[sglang.srt.plugins]\nassay = assay_chat.sglang:register\n"), 0o644})
	var record strings.Builder
	for _, f := range files {
		sum := sha256.Sum256(f.text)
		fmt.Fprintf(&record, "%s,sha256=%s,%d\n", f.name,
			base64.RawURLEncoding.EncodeToString(sum[:]), len(f.text))
	}
	fmt.Fprintf(&record, "%s/RECORD,,\n", info)
	text, err := zipped(append(files, file{info + "/RECORD", []byte(record.String()), 0o644}))
	if err != nil {
		return err
	}
	return r.write(fmt.Sprintf("assay_chat-%s-py3-none-%s.whl", python(r.version), b.wheel), text)
}
