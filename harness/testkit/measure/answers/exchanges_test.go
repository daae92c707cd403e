package answers_test

import (
	"bytes"
	"encoding/json"
	"flag"
	"fmt"
	"math/rand/v2"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/goassay/assay/engine"
	"github.com/goassay/assay/engine/wire"
	"github.com/goassay/assay/harness/check/subject"
	"github.com/goassay/assay/harness/serve"
	"github.com/goassay/assay/harness/serve/openai"
	"github.com/goassay/assay/harness/serve/upstream"
	"github.com/goassay/assay/harness/testkit/double/servetest"
)

var exchanges = flag.Int("exchanges", 600, "have the official clients take drawn answers so many times")

// ways are the clients of ci/serve/exchanges.py, each streamed and not.
const ways = 6

// families is how many families of the corpus answer.
const families = 20

// taken is one answer that clients must take.
type taken struct {
	Number    int         `json:"number"`
	Content   string      `json:"content"`
	Reasoning string      `json:"reasoning"`
	Calls     [][2]string `json:"calls"` // name, arguments
}

// served is a server of a family, with its answers.
type served struct {
	Family string  `json:"family"`
	URL    string  `json:"url"`
	Cases  []taken `json:"cases"`
}

var numbered = regexp.MustCompile(`Case (\d+)\.`)

// serveFamily starts a server before an upstream that answers a question by its number with a drawn
// answer. ok is false where the family's template writes no such answers.
func serveFamily(t *testing.T, family string, n int) (s served, ok bool) {
	text, err := os.ReadFile(filepath.Join("../../../../corpus", family, "template.jinja"))
	if err != nil {
		return s, false
	}
	src := engine.Source{Name: family, Text: string(text)}
	tm, err := engine.Compile(t.Context(), src, engine.Options{Now: subject.Now})
	if err != nil || tm.Gate().Err() != nil {
		return s, false
	}
	d := drawing{rand.New(rand.NewPCG(*seed, uint64(len(text))))}
	thinks := tm.Analysis().Format.Reasoning.Open.Text != ""
	outputs := map[int]string{}
	for number := 0; len(s.Cases) < n; number++ {
		if number == 20*n {
			return s, false
		}
		request := question(t, fmt.Sprintf("Case %d.", number))
		plan, err := tm.Prepare(request, engine.PrepareOptions{})
		if err != nil {
			return s, false
		}
		meant, answer := d.answer(thinks)
		output, whole := written(tm, request, plan.Prompt.Text, answer)
		if !whole || !tells(output, meant) {
			continue
		}
		outputs[number] = output
		c := taken{Number: number, Content: meant.Content, Reasoning: meant.Reasoning}
		for _, call := range meant.ToolCalls {
			c.Calls = append(c.Calls, [2]string{call.Name, call.Arguments})
		}
		s.Cases = append(s.Cases, c)
	}
	up := httptest.NewServer(&servetest.Upstream{Dialect: "llama-server",
		Write: func(prompt string) string {
			all := numbered.FindAllStringSubmatch(prompt, -1)
			if all == nil {
				return "no case"
			}
			number, _ := strconv.Atoi(all[len(all)-1][1])
			return outputs[number]
		}})
	t.Cleanup(up.Close)
	client, err := openai.New(up.URL, "", openai.Limits{})
	if err != nil {
		t.Fatal(err)
	}
	backend, err := upstream.Open(t.Context(), client, upstream.Options{})
	if err != nil {
		t.Fatal(err)
	}
	sealer, err := wire.NewSealer(bytes.Repeat([]byte("k"), 32),
		strings.NewReader(strings.Repeat("nonce", 1<<20)))
	if err != nil {
		t.Fatal(err)
	}
	server, err := serve.New(serve.Options{Names: []string{servetest.Model}, Source: src,
		Template: tm, Backend: backend, Sealer: sealer, Now: subject.Now})
	if err != nil {
		t.Fatal(err)
	}
	front := httptest.NewServer(server.Handler())
	t.Cleanup(front.Close)
	s.Family, s.URL = family, front.URL
	return s, true
}

// TestExchanges has the official clients ask servers of families for drawn answers, by the
// interpreter that ASSAY_PYTHON names, and counts the messages that are not the ones meant: none.
func TestExchanges(t *testing.T) {
	python := os.Getenv("ASSAY_PYTHON")
	if python == "" {
		t.Log("ASSAY_PYTHON is not set: the official clients are left out")
		return
	}
	folders, err := os.ReadDir("../../../../corpus")
	if err != nil {
		t.Fatal(err)
	}
	var all []served
	each := (*exchanges + ways*families - 1) / (ways * families)
	for _, folder := range folders {
		if len(all) == families {
			break
		}
		if s, ok := serveFamily(t, folder.Name(), each); ok {
			all = append(all, s)
		}
	}
	if len(all) < families {
		t.Fatalf("%d families answer, expected %d", len(all), families)
	}
	list, err := json.Marshal(all)
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(python, "../../../../ci/serve/exchanges.py", drawnTools)
	cmd.Stdin = bytes.NewReader(list)
	out, err := cmd.CombinedOutput()
	t.Logf("%s", out)
	if err != nil {
		t.Error(err)
	}
}
