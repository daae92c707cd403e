package ci

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestGateTricks varies the tricks of TestGate as an attacker would: cases that start programs or
// read files, faults that are silenced, names that give orders, links, and templates that cost too
// much, settings and folders that make git run something, and trees that git does not show whole.
// Each ends without a pass and with its reason, prints no order, and starts no program.
func TestGateTricks(t *testing.T) {
	t.Parallel()
	s, gate := newScratch(t), gateScript(t)
	good := readFile(t, "../corpus/hermes/template.jinja")
	s.write("one.jinja", good)
	s.write("sub/two words.jinja", good)
	for _, dir := range []string{"m", "deep/m"} {
		s.write(dir+"/tokenizer_config.json", `{"chat_template": "{{ messages[0].content }}"}`)
	}
	s.base = s.commit("base")
	secret := filepath.Join(t.TempDir(), "secret")
	if err := os.WriteFile(secret, []byte("SECRET {% x"), 0o666); err != nil {
		t.Fatal(err)
	}
	const silenced = "{% for m in messages if m.role != 'system' %}<|{{ m.role }}|>" +
		"{{ m.content or '' }}<|end|>{% endfor %}{% if add_generation_prompt %}<|assistant|>" +
		"{% endif %}"
	type trick struct {
		name string
		edit func(s *scratch)
		want string
		set  func(s *scratch) // after the commit
	}
	var all []trick
	for _, line := range []string{
		"'[unix ]' exec sh -c 'echo >owned'", "[unix] exec touch owned", "! exec touch owned",
		"? exec touch owned", `"exec" touch owned`, "[!windows] [unix] exec touch owned",
		"$WORK/owned", "e'x'ec touch owned", "[exec:sh] exec touch owned", "cp /etc/passwd x",
		"grep root ../../../etc/passwd", "env ASSAY=x", "stdin /etc/passwd", "cd /",
		"assay render template.jinja --request /etc/passwd",
	} {
		all = append(all, trick{"case " + line, func(s *scratch) {
			s.write("sub/case.txtar", line+"\n")
			s.write("sub/two words.jinja", "{#- a comment -#}"+good)
		}, "case.txtar:1: ", nil})
	}
	for _, comment := range []string{"{#assay:ignore A013 x#}", "{#- assay:ignore A013,A001 x -#}",
		"{# assay:ignore  A013\nx #}", "{{ '{# assay:ignore A013 x #}' if false }}"} {
		all = append(all, trick{"comment " + comment,
			func(s *scratch) { s.write("new.jinja", comment+silenced) }, "[A013]", nil})
	}
	all = append(all, trick{"comment, and another name", func(s *scratch) {
		s.write("old.jinja", silenced)
		s.commit("old")
		s.git("mv", "old.jinja", "new.jinja")
		s.write("new.jinja", "{#- assay:ignore A013 x -#}"+silenced)
	}, "[A013]", nil})
	for _, name := range []string{"x\r::error::y.jinja", "a\n##[error]b.jinja",
		"::error::z.jinja", "\u009b31m.jinja", "%0A::error::q.jinja", "-.jinja",
		"--base=HEAD.jinja", "a#b.jinja", "x#default.jinja", ":(top)x.jinja", "*.jinja"} {
		all = append(all, trick{"name " + name, func(s *scratch) { s.write(name, "{% if") }, "[A001]", nil})
	}
	const here = "HERE" // stands for the name of the repository's folder
	for _, target := range []string{secret, "../.git/config", "link.jinja", "/dev/stdin",
		"/proc/self/environ", "../../" + here + "/.git/HEAD"} {
		all = append(all, trick{"link to " + target, func(s *scratch) {
			s.link(strings.Replace(target, here, filepath.Base(s.dir), 1), "sub/link.jinja")
		}, "fail: sub/link.jinja is a link", nil})
	}
	for _, text := range []string{
		"{% for a in range(99999) %}{% for b in range(99999) %}{% endfor %}{% endfor %}",
		"{{ 'x' * 99999999 }}", "{% macro f() %}{{ f() }}{{ f() }}{% endmacro %}{{ f() }}",
		"{{ 2 ** 99999 }}", "{% if messages|length > 3 %}{% for a in range(99999) %}" +
			"{% for b in range(9999) %}{% endfor %}{% endfor %}{% endif %}",
		"{{ raise_exception('\n::error::owned\n::set-output name=verdict::pass\n##[error]') }}",
	} {
		all = append(all, trick{fmt.Sprintf("cost %.30s", text), func(s *scratch) {
			s.write("new.jinja", "{#- assay:ignore A056,A002 x -#}"+text+good)
		}, "[A0", nil})
	}
	program := func(s *scratch, name string) string {
		s.write(name, "#!/bin/sh\ntouch "+filepath.Join(s.dir, "owned")+"\ncat\n")
		if err := os.Chmod(filepath.Join(s.dir, name), 0o777); err != nil {
			t.Fatal(err)
		}
		return filepath.Join(s.dir, name)
	}
	bad := func(s *scratch) { s.write("one.jinja", "{% if") }
	outside := filepath.Dir(secret)
	if err := os.WriteFile(filepath.Join(outside, "tokenizer_config.json"),
		[]byte(`{"chat_template": "SECRET {% x"}`), 0o666); err != nil {
		t.Fatal(err)
	}
	all = append(all,
		trick{"folder that becomes a link", func(s *scratch) {
			s.git("rm", "-q", "-r", "deep/m")
			s.write("deep/x", "")
			s.link(outside, "deep/m")
			bad(s)
		}, "[A001]", nil},
		trick{"named templates in a link", func(s *scratch) {
			s.link(outside, "m/additional_chat_templates")
			s.write("m/tokenizer_config.json", "{}")
		}, "fail: m/additional_chat_templates is a link", nil},
		trick{"named template that is a link", func(s *scratch) {
			s.write("m/additional_chat_templates/other.jinja", good)
			s.link(secret, "m/additional_chat_templates/tool_use.jinja")
			s.write("m/tokenizer_config.json", "{}")
		}, "fail: m/tokenizer_config.json is not judged", nil},
		trick{"model file that is a link", func(s *scratch) { s.link(secret, "m/a.gguf") },
			"fail: m/a.gguf is a link", nil},
		trick{"content of a configuration beside it", func(s *scratch) {
			s.write(".gitattributes", "*.json ident\n")
			s.write("m/chat_template.jinja", good)
		}, "fail: m/tokenizer_config.json has another content", nil},
		trick{"file monitor", bad, "[A001]", func(s *scratch) {
			s.git("config", "core.fsmonitor", program(s, "monitor"))
		}},
		trick{"hooks", func(s *scratch) {
			for _, name := range []string{"post-index-change", "reference-transaction"} {
				program(s, "hooks/"+name)
			}
			bad(s)
		}, "[A001]", func(s *scratch) {
			s.git("config", "core.hooksPath", filepath.Join(s.dir, "hooks"))
		}},
		trick{"attributes", func(s *scratch) {
			s.write(".gitattributes", "*.jinja diff=x binary export-subst export-ignore\n")
			s.git("config", "diff.x.textconv", program(s, "show"))
			s.git("config", "diff.external", filepath.Join(s.dir, "show"))
			bad(s)
		}, "[A001]", nil},
		trick{"replaced object", func(s *scratch) {
			bad(s)
			s.commit("bad")
			s.git("replace", s.git("rev-parse", "HEAD:one.jinja"),
				s.git("rev-parse", s.base+":one.jinja"))
		}, "[A001]", nil},
		trick{"graft", func(s *scratch) {
			bad(s)
			s.write(".git/info/grafts", s.commit("bad")+"\n")
		}, "[A001]", nil},
		trick{"tag that is a flag", func(s *scratch) {
			s.git("update-ref", "refs/tags/--output=owned", "HEAD")
			s.git("update-ref", "refs/heads/--base=HEAD", "HEAD")
			bad(s)
		}, "[A001]", nil},
		trick{"sparse checkout", func(s *scratch) {
			s.write("sub/two words.jinja", "{% if")
			s.commit("bad")
			s.git("sparse-checkout", "set", "--no-cone", "/one.jinja")
		}, "words.jinja is not in this checkout", nil},
		trick{"repository inside", func(s *scratch) {
			s.write("inside/new.jinja", "{% if")
			s.git("init", "-q", "inside")
			s.git("-C", "inside", "add", "new.jinja")
			s.git("-C", "inside", "-c", "user.name=a", "-c", "user.email=a@b", "commit", "-qm", "a")
		}, "fail: inside is another repository", nil},
		trick{"rename with another mode", func(s *scratch) {
			s.git("mv", "one.jinja", "another.jinja")
			s.write("another.jinja", good+"{% if")
			if err := os.Chmod(filepath.Join(s.dir, "another.jinja"), 0o777); err != nil {
				t.Fatal(err)
			}
		}, "[A001]", nil},
		trick{"name in other letters", func(s *scratch) {
			s.write("ONE.jinja", "{% if")
		}, "[A001]", nil},
	)
	for _, c := range all {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			s := s.copy(t)
			c.edit(s)
			s.commit("head")
			if c.set != nil {
				c.set(s)
			}
			if err := os.RemoveAll(filepath.Join(s.dir, "owned")); err != nil {
				t.Fatal(err)
			}
			output := filepath.Join(t.TempDir(), "output")
			out, code := s.run("", []string{"GITHUB_OUTPUT=" + output, "ASSAY=assay"}, "bash",
				gate, "--base", s.base, "--only-changed")
			if verdict := readFile(t, output); code == 0 || verdict != "verdict=fail\n" &&
				verdict != "verdict=error\n" || !strings.Contains(out, c.want) {
				t.Errorf("status %d, %q, want %q in\n%s", code, verdict, c.want, out)
			}
			for _, bad := range []string{"\n::", "\n##[", "SECRET", "[core]", "\r", "\u009b"} {
				if strings.Contains("\n"+out, bad) {
					t.Errorf("%q is in the output\n%s", bad, out)
				}
			}
			for _, dir := range []string{"", "sub", ".."} {
				if _, err := os.Lstat(filepath.Join(s.dir, dir, "owned")); err == nil {
					t.Error("a program has run")
				}
			}
		})
	}
}

// TestGateBases names bases that are flags, no commits or nothing, from settings and variables that
// change what git reads, and a folder that is itself a repository. None is a pass.
func TestGateBases(t *testing.T) {
	t.Parallel()
	s, gate := newScratch(t), gateScript(t)
	good := readFile(t, "../corpus/hermes/template.jinja")
	s.write("one.jinja", good)
	base := s.commit("base")
	s.write("one.jinja", "{% if")
	s.commit("head")
	run := func(name, dir string, env []string, code int, want string, args ...string) {
		t.Run(name, func(t *testing.T) {
			s.t = t
			out, got := s.run(dir, append(env, "ASSAY=assay"), "bash",
				append([]string{gate}, args...)...)
			if got != code || !strings.Contains(out, want) || strings.Contains("\n"+out, "\n::") {
				t.Errorf("status %d, want %d with %q in\n%s", got, code, want, out)
			}
			if _, err := os.Lstat(filepath.Join(s.dir, "owned")); err == nil {
				t.Error("a file was written, or a program has run")
			}
		})
	}
	for _, name := range []string{"--output=owned", "-o", "--all",
		base + " --output=owned", ":/head", "HEAD^{tree}", "HEAD:one.jinja", "^" + base,
		base + "..HEAD", "a\n::error::x"} {
		run("base "+name, "", nil, 2, "is not in this repository", "--base", name)
		out, code := s.run("", nil, "assay", "check", "--base", name, "one.jinja")
		if code != 2 || !strings.Contains(out, "there is no such commit") {
			t.Errorf("check --base %q: status %d\n%s", name, code, out)
		}
	}
	run("no base", "", nil, 2, "--base needs a value, and got an empty text", "--base", "", "--only-changed")
	for _, name := range []string{"GIT_LITERAL_PATHSPECS", "GIT_NOGLOB_PATHSPECS",
		"GIT_ICASE_PATHSPECS"} {
		run(name, "", []string{name + "=1"}, 1, "[A001]", "--base", base, "--only-changed")
	}
	run("GIT_EXTERNAL_DIFF", "", []string{"GIT_EXTERNAL_DIFF=touch owned"}, 1, "[A001]", "--base",
		base, "--only-changed")
	run("GIT_DIR", "", []string{"GIT_DIR=/nonexistent"}, 2, "not a git repository", "--base", base)
	s.git("clone", "-q", "--bare", ".", "bare.git")
	s.git("--git-dir", "bare.git", "config", "core.bare", "false")
	s.git("--git-dir", "bare.git", "config", "core.worktree", "..")
	s.git("--git-dir", "bare.git", "config", "core.fsmonitor", "touch owned; false")
	run("folder that is a repository", "bare.git", nil, 2, "safe.bareRepository", "--base", base)
	out, code := s.run("bare.git", nil, "assay", "check", "--base", base, "../one.jinja")
	if code != 2 {
		t.Errorf("check in a folder that is a repository: status %d\n%s", code, out)
	}
}
