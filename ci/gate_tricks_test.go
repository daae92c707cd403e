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
// much. Each ends without a pass and with its reason, prints no order, and starts no program.
func TestGateTricks(t *testing.T) {
	s, gate := newScratch(t), gateScript(t)
	good := readFile(t, "../corpus/hermes/template.jinja")
	s.write("one.jinja", good)
	s.write("sub/two words.jinja", good)
	base := s.commit("base")
	secret := filepath.Join(t.TempDir(), "secret")
	if err := os.WriteFile(secret, []byte("SECRET {% x"), 0o666); err != nil {
		t.Fatal(err)
	}
	const silenced = "{% for m in messages if m.role != 'system' %}<|{{ m.role }}|>" +
		"{{ m.content or '' }}<|end|>{% endfor %}{% if add_generation_prompt %}<|assistant|>" +
		"{% endif %}"
	type trick struct {
		name string
		edit func()
		want string
	}
	var all []trick
	for _, line := range []string{
		"'[unix ]' exec sh -c 'echo >owned'", "[unix] exec touch owned", "! exec touch owned",
		"? exec touch owned", `"exec" touch owned`, "[!windows] [unix] exec touch owned",
		"$WORK/owned", "e'x'ec touch owned", "[exec:sh] exec touch owned", "cp /etc/passwd x",
		"grep root ../../../etc/passwd", "env ASSAY=x", "stdin /etc/passwd", "cd /",
		"assay render template.jinja --request /etc/passwd",
	} {
		all = append(all, trick{"case " + line, func() {
			s.write("sub/case.txtar", line+"\n")
			s.write("sub/two words.jinja", "{#- a comment -#}"+good)
		}, "case.txtar:1: "})
	}
	for _, comment := range []string{"{#assay:ignore A013 x#}", "{#- assay:ignore A013,A001 x -#}",
		"{# assay:ignore  A013\nx #}", "{{ '{# assay:ignore A013 x #}' if false }}"} {
		all = append(all, trick{"comment " + comment,
			func() { s.write("new.jinja", comment+silenced) }, "[A013]"})
	}
	all = append(all, trick{"comment, and another name", func() {
		s.write("old.jinja", silenced)
		s.commit("old")
		s.git("mv", "old.jinja", "new.jinja")
		s.write("new.jinja", "{#- assay:ignore A013 x -#}"+silenced)
	}, "[A013]"})
	for _, name := range []string{"x\r::error::y.jinja", "a\n##[error]b.jinja",
		"::error::z.jinja", "\u009b31m.jinja", "%0A::error::q.jinja", "-.jinja",
		"--base=HEAD.jinja", "a#b.jinja", "x#default.jinja", ":(top)x.jinja", "*.jinja"} {
		all = append(all, trick{"name " + name, func() { s.write(name, "{% if") }, "[A001]"})
	}
	for _, target := range []string{secret, "../.git/config", "link.jinja", "/dev/stdin",
		"/proc/self/environ", "../../" + filepath.Base(s.dir) + "/.git/HEAD"} {
		all = append(all, trick{"link to " + target, func() {
			if err := os.Symlink(target, filepath.Join(s.dir, "sub", "link.jinja")); err != nil {
				t.Fatal(err)
			}
		}, "fail: sub/link.jinja is a link"})
	}
	for _, text := range []string{
		"{% for a in range(99999) %}{% for b in range(99999) %}{% endfor %}{% endfor %}",
		"{{ 'x' * 99999999 }}", "{% macro f() %}{{ f() }}{{ f() }}{% endmacro %}{{ f() }}",
		"{{ 2 ** 99999 }}", "{% if messages|length > 3 %}{% for a in range(99999) %}" +
			"{% for b in range(9999) %}{% endfor %}{% endfor %}{% endif %}",
		"{{ raise_exception('\n::error::owned\n::set-output name=verdict::pass\n##[error]') }}",
	} {
		all = append(all, trick{fmt.Sprintf("cost %.30s", text), func() {
			s.write("new.jinja", "{#- assay:ignore A056,A002 x -#}"+text+good)
		}, "[A0"})
	}
	for _, c := range all {
		t.Run(c.name, func(t *testing.T) {
			s.t = t
			s.git("checkout", "-q", "-f", "main")
			s.git("reset", "-q", "--hard", base)
			s.git("clean", "-q", "-f", "-d")
			c.edit()
			s.commit("head")
			output := filepath.Join(t.TempDir(), "output")
			out, code := s.run("", []string{"GITHUB_OUTPUT=" + output, "ASSAY=" + s.assay}, "bash",
				gate, "--base", base, "--only-changed")
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
