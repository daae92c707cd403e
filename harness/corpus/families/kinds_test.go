package families_test

import (
	"io/fs"
	"strings"
	"testing"

	"github.com/goassay/assay/harness/corpus/families"
)

const (
	helloKind = "# A greeting.\nrequest request.json\nparse output.txt message.json\nfinish " +
		"stop\naccept output.txt\n" +
		"-- sea/request.json --\n{\"messages\": [], \"tools\": [\"low_water\"]}\n" +
		"-- sea/message.json --\n{\"content\": \"Hello\"}\n" +
		"-- land/request.json --\n{\"messages\": [1]}\n-- land/message.json --\n{\"content\": \"Hi\"}\n"
	functions = `{"low_water": {"name": "low_water"}}`
)

// load reads a corpus of one family with the outputs and the kind hello.
func load(outputs string) (*families.Corpus, error) {
	return families.Load(corpusOf("kinds/hello.txtar", helloKind, "functions.json", functions,
		"a/template.jinja", "x", "a/outputs.txtar", outputs, "a/alone.txtar",
		"# one of its own\ntemplate a\n"))
}

// TestKinds composes cases of a kind: the setting's files, the family's replacements, its additions
// to the request, and the parts that it leaves out.
func TestKinds(t *testing.T) {
	for _, c := range []struct{ name, outputs, want string }{
		{"the setting", "# about\nsetting sea\n-- hello/output.txt --\nHello\n",
			"template a\n# A greeting.\nrequest request.json\nparse output.txt " +
				"message.json\nfinish stop\naccept output.txt\n" +
				"-- message.json --\n{\"content\": \"Hello\"}\n" +
				"-- request.json --\n{\n  \"messages\": [],\n  \"tools\": [\n    {\n      \"type\": \"function\",\n" +
				"      \"function\": {\n        \"name\": \"low_water\"\n      }\n    }\n  ]\n}\n" +
				"-- output.txt --\nHello\n"},
		{"the family's own", "# about\nsetting land\n-- hello/output.txt --\nHey\n-- hello/message.json --\n{\"content\": \"Hey\"}\n",
			"template a\n# A greeting.\nrequest request.json\nparse output.txt " +
				"message.json\nfinish stop\naccept output.txt\n" +
				"-- request.json --\n{\n  \"messages\": [\n    1\n  ]\n}\n" +
				"-- message.json --\n{\"content\": \"Hey\"}\n-- output.txt --\nHey\n"},
		{"more and less", "# about\nsetting land\nask '{\"seed\": 1.50}' hello\nwithout accept hello\n-- hello/output.txt --\nHi\n",
			"template a\n# A greeting.\nrequest request.json\nparse output.txt " +
				"message.json\nfinish stop\n# accept output.txt\n" +
				"-- message.json --\n{\"content\": \"Hi\"}\n" +
				"-- request.json --\n{\n  \"messages\": [\n    1\n  ],\n  \"seed\": 1.50\n}\n-- output.txt --\nHi\n"},
	} {
		corpus, err := load(c.outputs)
		if err != nil {
			t.Fatalf("%s: %v", c.name, err)
		}
		f, _ := corpus.Family("a")
		if got := strings.Join(f.Cases, " "); got != "a/alone.txtar a/hello.txtar" {
			t.Errorf("%s: the cases are %s", c.name, got)
		}
		got, err := fs.ReadFile(corpus.FS, "a/hello.txtar")
		if err != nil || string(got) != c.want {
			t.Errorf("%s: found %v\n%s\nexpected\n%s", c.name, err, got, c.want)
		}
		if o := corpus.Origin("a/hello.txtar"); o.File != "a/outputs.txtar" ||
			o.Script != "kinds/hello.txtar" || o.Shift != 1 {
			t.Errorf("%s: the origin is %+v", c.name, o)
		}
		if o := corpus.Origin("a/alone.txtar"); o.File != "a/alone.txtar" || o.Kind != "" {
			t.Errorf("the origin of a script is %+v", o)
		}
	}
}

// TestOwnScript makes a case of the commands in the head of an outputs file, each on its line.
func TestOwnScript(t *testing.T) {
	corpus, err := load("# about\nsetting land\n\n! caps tools\ngate\n-- hello/output.txt --\nHi\n")
	if err != nil {
		t.Fatal(err)
	}
	got, err := fs.ReadFile(corpus.FS, "a/template.txtar")
	if want := "template a\n\n\n! caps tools\ngate\n"; err != nil || string(got) != want {
		t.Errorf("found %v %q, expected %q", err, got, want)
	}
}

func TestOutputsErrors(t *testing.T) {
	const output = "-- hello/output.txt --\nHi\n"
	for _, c := range []struct{ name, outputs, want string }{
		{"no comment", "setting sea\n" + output, "a/outputs.txtar:1: expected a comment"},
		{"no setting", "# about\n" + output, "a/outputs.txtar: the head names no setting"},
		{"unknown setting", "# about\nsetting moon\n" + output, "the kind hello is not told in the setting moon"},
		{"unknown kind", "# about\nsetting sea\n-- bye/output.txt --\n", `there is no kind "bye"; there are hello`},
		{"no kind", "# about\nsetting sea\n-- output.txt --\n", `expected a file of a kind, -- KIND/output.txt --, found "output.txt"`},
		{"twice", "# about\nsetting sea\n" + output + output, `the file "hello/output.txt" is there twice`},
		{"ask without quotes", "# about\nsetting sea\nask {} hello\n" + output, "a/outputs.txtar:3: expected ask, JSON in single quotes, and kinds"},
		{"ask no object", "# about\nsetting sea\nask '[]' hello\n" + output, "expected an object of members to ask for, found array"},
		{"ask broken", "# about\nsetting sea\nask '{' hello\n" + output, "a/outputs.txtar:3: ask:1:"},
		{"ask of no output", "# about\nsetting sea\nask '{}' bye\n" + output, `there is no output of the kind "bye"`},
		{"without a needed command", "# about\nsetting sea\nwithout parse hello\n" + output, "with one of the commands finish, accept, roundtrip"},
		{"without of no output", "# about\nsetting sea\nwithout accept bye\n" + output, `there is no output of the kind "bye"`},
		{"a nameless file", "# about\nsetting sea\n-- --\n", "a/outputs.txtar:3: the header of a file without a name"},
	} {
		if _, err := load(c.outputs); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, expected %q", c.name, err, c.want)
		}
	}
	_, err := families.Load(corpusOf("kinds/hello.txtar", helloKind, "a/template.jinja", "x",
		"a/outputs.txtar", "# about\nsetting sea\n"+output, "a/hello.txtar", ""))
	if err == nil || !strings.Contains(err.Error(), "has a case of this name already") {
		t.Errorf("two cases of one name: %v", err)
	}
}

// FuzzOutputs reads any outputs file: each case that it makes can be read, or the error names the
// file.
func FuzzOutputs(f *testing.F) {
	f.Add("# about\nsetting sea\ngate\nask '{\"a\": 1}' hello\nwithout accept hello\n-- hello/output.txt --\nHello\n")
	f.Add("# about\nsetting sea\n-- hello/request.json --\n{\"tools\": [\"x\"]}\n-- --\n")
	f.Fuzz(func(t *testing.T, outputs string) {
		corpus, err := load(outputs)
		if err != nil {
			if !strings.Contains(err.Error(), "a/outputs.txtar") {
				t.Errorf("%q: %v", outputs, err)
			}
			return
		}
		f, _ := corpus.Family("a")
		for _, file := range f.Cases {
			if _, err := fs.ReadFile(corpus.FS, file); err != nil &&
				!strings.Contains(err.Error(), "a/outputs.txtar") {
				t.Errorf("%q: %v", outputs, err)
			}
		}
	})
}
