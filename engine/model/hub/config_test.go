package hub_test

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/goassay/assay/engine/model/hub"
)

func TestTokenPrintsAsNothing(t *testing.T) {
	c := hub.Config{Token: secret}
	text, err := json.Marshal(c.Token)
	if err != nil {
		t.Fatal(err)
	}
	printed := string(text) + fmt.Sprint(c) +
		fmt.Sprintf("%v %+v %#v %s %q %x %X %d", c, c, c, c.Token, c.Token, c.Token, c.Token,
			c.Token)
	for _, form := range []string{secret, fmt.Sprintf("%x", secret), fmt.Sprintf("%X", secret)} {
		if strings.Contains(printed, form) {
			t.Errorf("the token is in %s", printed)
		}
	}
	if got := fmt.Sprint(hub.Token("")); got != "" {
		t.Errorf("no token prints as %q", got)
	}
}

func TestFromEnv(t *testing.T) {
	dir := t.TempDir()
	t.Setenv("HOME", dir)
	write := func(name, text string) string {
		path := filepath.Join(dir, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	write("home/token", "  from-home\n")
	write("xdg/huggingface/token", "from-xdg")
	path := write("mine", "from-path\n")
	type want struct {
		token, cache string
		offline      bool
		idle         time.Duration
	}
	cache := func(elements ...string) string {
		return filepath.Join(append([]string{dir}, append(elements, "hub")...)...)
	}
	for name, c := range map[string]struct {
		env  []string
		want want
	}{
		"nothing set": {nil, want{cache: cache(".cache", "huggingface")}},
		"HF_HOME": {[]string{"HF_HOME", dir + "/home"},
			want{token: "from-home", cache: cache("home")}},
		"HF_HOME with ~": {[]string{"HF_HOME", "~/home"},
			want{token: "from-home", cache: cache("home")}},
		"XDG_CACHE_HOME": {[]string{"XDG_CACHE_HOME", dir + "/xdg"},
			want{token: "from-xdg", cache: cache("xdg", "huggingface")}},
		"HF_TOKEN wins": {[]string{"HF_HOME", dir + "/home", "HF_TOKEN", " t\n",
			"HF_TOKEN_PATH", path}, want{token: "t", cache: cache("home")}},
		"HF_TOKEN_PATH": {[]string{"HF_HOME", dir + "/home", "HF_TOKEN_PATH", path},
			want{token: "from-path", cache: cache("home")}},
		"HF_HUB_CACHE": {[]string{"HF_HUB_CACHE", dir + "/c"}, want{cache: dir + "/c"}},
		"offline": {[]string{"HF_HUB_OFFLINE", "1"},
			want{cache: cache(".cache", "huggingface"), offline: true}},
		"offline, in words": {[]string{"TRANSFORMERS_OFFLINE", "yes"},
			want{cache: cache(".cache", "huggingface"), offline: true}},
		"online": {[]string{"HF_HUB_OFFLINE", "0"},
			want{cache: cache(".cache", "huggingface")}},
		"patience": {[]string{"HF_HUB_DOWNLOAD_TIMEOUT", "2.5"},
			want{cache: cache(".cache", "huggingface"), idle: 2500 * time.Millisecond}},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := hub.FromEnv(environ(c.env))
			if err != nil {
				t.Fatal(err)
			}
			if g := (want{string(got.Token), got.Cache, got.Offline, got.Idle}); g != c.want {
				t.Errorf("got %+v, want %+v", g, c.want)
			}
		})
	}
	for _, env := range [][]string{
		{"HF_HUB_DOWNLOAD_TIMEOUT", "soon"}, {"HF_HUB_DOWNLOAD_TIMEOUT", "-1"}, {"HF_HUB_DOWNLOAD_TIMEOUT", "NaN"}, {"HF_TOKEN_PATH", dir},
	} {
		if _, err := hub.FromEnv(environ(env)); err == nil {
			t.Errorf("%q: no error", env)
		}
	}
}

func environ(pairs []string) func(string) string {
	return func(name string) string {
		for i := 0; i < len(pairs); i += 2 {
			if pairs[i] == name {
				return pairs[i+1]
			}
		}
		return ""
	}
}

func TestNewRefuses(t *testing.T) {
	for name, c := range map[string]hub.Config{
		"scheme":    {Endpoint: "ftp://h", Cache: "c"},
		"no host":   {Endpoint: "https://", Cache: "c"},
		"user":      {Endpoint: "https://u:" + secret + "@h", Cache: "c"},
		"query":     {Endpoint: "https://h?a=" + secret, Cache: "c"},
		"fragment":  {Endpoint: "https://h#f", Cache: "c"},
		"no URL":    {Endpoint: "https://%zz" + secret, Cache: "c"},
		"no cache":  {},
		"two lines": {Token: secret + "\n" + secret, Cache: "c"},
		"a space":   {Token: secret + " x", Cache: "c"},
		"no ASCII":  {Token: secret + "\u00e9", Cache: "c"},
	} {
		_, err := hub.New(c)
		if err == nil {
			t.Errorf("%s: no error", name)
		} else if strings.Contains(err.Error(), secret) {
			t.Errorf("%s: the error has the secret: %v", name, err)
		}
	}
	for _, endpoint := range []string{"", "https://h", "http://h:8080/", "https://h/mirror/"} {
		if _, err := hub.New(hub.Config{Endpoint: endpoint, Cache: "c"}); err != nil {
			t.Errorf("%q: %v", endpoint, err)
		}
	}
}

func TestParseRef(t *testing.T) {
	for text, want := range map[string]string{
		"o/m":                  "hf:o/m",
		"hf:o/m":               "hf:o/m",
		"hf:o/m:a/b c.gguf":    "hf:o/m:a/b c.gguf",
		"O-1/m.2_x:Q8_0":       "hf:O-1/m.2_x:Q8_0",
		"o":                    "",
		"o/m/x":                "",
		"/m":                   "",
		"o/":                   "",
		"o/..":                 "",
		"../m":                 "",
		"o--x/m":               "",
		"o/.m":                 "",
		"o/m-":                 "",
		"o/m:":                 "",
		"o/m:/etc/passwd":      "",
		"o/m:a/../b":           "",
		"o/m:a//b":             "",
		`o/m:a\b`:              "",
		"o/m:a:b":              "",
		"o/m:a\x1b[31m":        "",
		"o/m:a\u202eb":         "",
		"o/m\n":                "",
		"https://h/o/m":        "",
		"o/" + longText(97):    "",
		"o/m:" + longText(256): "",
	} {
		r, err := hub.ParseRef(text)
		if err != nil {
			if want != "" {
				t.Errorf("%q: %v", text, err)
			}
		} else if r.String() != want {
			t.Errorf("%q is %q, want %q", text, r, want)
		}
	}
}

func longText(n int) string { return strings.Repeat("x", n) }

func TestBytes(t *testing.T) {
	for n, want := range map[int64]string{
		0: "0 bytes", 999: "999 bytes", 1000: "1.0 kB", 65536: "65.5 kB", 999_949: "999.9 kB",
		999_950: "1.0 MB", 4_683_073_184: "4.7 GB", 1 << 62: "4611686.0 TB",
	} {
		if got := hub.Bytes(n); got != want {
			t.Errorf("Bytes(%d) is %q, want %q", n, got, want)
		}
	}
}

func TestParseLock(t *testing.T) {
	const good = `{"version": 1, "repository": "o/m", "revision": "main", "commit": "0123456789012345678901234567890123456789",
"files": [{"file": "m.gguf", "size": 5, "sha256": "0000000000000000000000000000000000000000000000000000000000000000"}],
"templates": [{"name": "default", "sha256": "00", "judged": true}]}`
	l, err := hub.ParseLock([]byte(good))
	if err != nil {
		t.Fatal(err)
	}
	again, err := hub.ParseLock(l.Text())
	if err != nil || string(again.Text()) != string(l.Text()) {
		t.Errorf("read back as %s, %v", again.Text(), err)
	}
	for _, change := range [][2]string{
		{good, ""}, {`"version": 1`, `"version": 2`}, {`"o/m"`, `"../m"`}, {`0123456789"`, `012345678g"`}, {`[{"file": "m.gguf", `, `[{`},
		{`m.gguf`, `../m.gguf`}, {`"size": 5`, `"size": -5`}, {`0000"}],`, `000"}],`}, {`"revision"`, `"revisions"`},
		{`[{"file": "m.gguf", "size": 5, "sha256": "0000000000000000000000000000000000000000000000000000000000000000"}]`, `[]`},
	} {
		text := strings.Replace(good, change[0], change[1], 1)
		if text == good {
			t.Fatalf("%q is not in the lock", change[0])
		}
		if _, err := hub.ParseLock([]byte(text)); err == nil {
			t.Errorf("no error with %q", change[1])
		}
	}
}

func FuzzParseLock(f *testing.F) {
	f.Add([]byte(`{"version": 1, "repository": "o/m", "files": [{}]}`))
	f.Fuzz(func(t *testing.T, text []byte) {
		l, err := hub.ParseLock(text)
		if err != nil {
			return
		}
		if again, err := hub.ParseLock(l.Text()); err != nil ||
			string(again.Text()) != string(l.Text()) {
			t.Errorf("read back as %v, %v", again, err)
		}
	})
}
