package check_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/goassay/assay/harness/check"
	"github.com/goassay/assay/harness/check/subject"
)

// TestParts writes images and videos in ways of which some lose or confuse them.
func TestParts(t *testing.T) {
	t.Parallel()
	const template = `{%- set ns = namespace(n=0) %}
{%- for m in messages %}<|{{ m.role }}|>
{%- if m.content is string %}{{ m.content }}
{%- else %}{% for part in m.content or [] %}
{%- if part.type == 'text' %}{{ part.text }}PARTS{% endif %}
{%- endfor %}{% endif %}<|end|>
{% endfor %}{% if add_generation_prompt %}<|assistant|>{% endif %}`
	for name, test := range map[string]struct{ parts, want string }{
		"both": {"{% elif part.type in ('image', 'image_url') %}<image>" +
			"{% elif part.type in ('video', 'video_url') %}<video>", ""},
		"images alone": {"{% elif part.type == 'image' %}<image>", ""},
		"numbers": {"{% elif part.type == 'image' %}{% set ns.n = ns.n + 1 %}<image_{{ ns.n }}>",
			""},
		"numbers of each message": {"{% elif part.type == 'image' %}{% set ns.n = ns.n + 1 if " +
			"part != m.content[0] else 1 %}<image_{{ ns.n }}>",
			"the second image brings the number 1"},
		"what clients send": {"{% elif part.type == 'image_url' %}<image>",
			"vLLM rewrites image_url to image"},
		"one mark": {"{% elif part.type in ('image', 'image_url', 'video') %}<image>",
			`the template writes the same for video as for image: "<image>"`},
		"an alias": {"{% elif part.type == 'image' %}<image>" +
			"{% elif part.type in ('video', 'video_url') %}<video>",
			"a part of the type image_url is lost, though video_url is known"},
		"the first question": {"{% elif part.type == 'image' and loop.length > 0 and " +
			"ns.n == 0 and m == messages[0] %}<image>",
			`three images in two user messages give one placeholder: "<image>"`},
		"an alias that opens a list": {"{% endif %}{% if part.type in ('image', 'image_url') " +
			"%}<|user|>{% endif %}{% if part.type == 'image' %}<image>",
			`for image_url only what other prompts have without one: "<|user|>"`},
		"one shape": {"{% elif part.type == 'image' and not part.url %}<image>",
			`lost: {"type": "image", "url": "https://example.org/one"} (transformers)`},
		"once for a result": {"{% elif part.type == 'image' and (m.role == 'user' or " +
			"loop.index == 1) %}<image>",
			`two images in a tool message give one placeholder: "<image>"`},
		// as a model takes them that looks at all pictures before it reads
		"all at the beginning": {"{% endif %}{% endfor %}{% for part in [] %}{% if true %}", ""},
		"the first at the beginning": {"{% elif part.type == 'image' and not loop.first %}<image>",
			`of two images in the second user message one stands before what is said earlier: "<image>"`},
	} {
		text := strings.Replace(template, "PARTS", test.parts, 1)
		if _, ok := strings.CutSuffix(name, " at the beginning"); ok {
			text = "{% for m in messages if m.content is not string %}{% for part in m.content " +
				"or [] if part.type == 'image' %}{% if loop.first or ALL %}<image>{% endif %}" +
				"{% endfor %}{% endfor %}" + text
			text = strings.Replace(text, "ALL", fmt.Sprint(name[:3] == "all"), 1)
		}
		got := ""
		for _, res := range check.Template(subject.New(name, text),
			check.Options{Only: []string{"A123", "A134"}}) {
			if res.IsFinding() {
				got += res.Text + "\n"
			}
		}
		if test.want == "" && got != "" || !strings.Contains(got, test.want) {
			t.Errorf("%s: %q, want %q", name, got, test.want)
		}
	}
}
