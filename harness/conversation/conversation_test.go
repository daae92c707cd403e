package conversation_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/goassay/assay/engine/chattemplate"
	"github.com/goassay/assay/engine/jinja"
	"github.com/goassay/assay/engine/ordered"
	"github.com/goassay/assay/engine/source"
	"github.com/goassay/assay/harness/check/subject"
	"github.com/goassay/assay/harness/conversation"
)

// written is the grammar's conversations as text.
func written(g *conversation.Grammar) string {
	var b strings.Builder
	for _, c := range g.Conversations {
		in := c.Input(nil)
		b.WriteString(c.Name + ordered.ArrayOf(in.Messages...).
			String() + ordered.ArrayOf(in.Tools...).String() + c.Request.Kwargs.String() + "\n")
	}
	return b.String()
}

// TestSeed derives the same bytes for the same seed, and other words for another.
func TestSeed(t *testing.T) {
	one, again, other := written(conversation.New(7)), written(conversation.New(7)),
		written(conversation.New(8))
	if one != again {
		t.Error("two derivations for one seed differ")
	}
	if one == other {
		t.Error("two seeds give the same conversations")
	}
}

// TestForms asks for the forms that clients really send, under several seeds.
func TestForms(t *testing.T) {
	for seed := range uint64(3) {
		g := conversation.New(seed)
		text := written(g)
		for _, want := range []string{
			`"role": "system"`, `"role": "developer"`, `"role": "tool"`, `"content": null`, `"content": ""`, `"type": "text"`, `"type": "image_url"`,
			`"type": "image"`, `"input_audio"`, `"video_url"`, `"reasoning_content"`, `"reasoning"`, `"arguments": {}`, `"arguments": "{}"`, `"arguments": "{\"`,
			`"tool_call_id"`, `["string", "null"]`, `"anyOf"`, `"oneOf"`, `"enum"`, `"nullable"`, `"strict"`, `"enable_thinking": true`,
			`"enable_thinking": false`, `"reasoning_effort": "low"`, `"reasoning_effort": "none"`, `Error: `, `"properties": {}`,
		} {
			if !strings.Contains(text, want) {
				t.Errorf("seed %d: no conversation has %s", seed, want)
			}
		}
		seen := map[[2]conversation.Kind]bool{}
		most := 0
		for _, c := range g.Conversations {
			before := conversation.None
			for _, m := range c.Request.Messages {
				kind := conversation.KindOf(m)
				seen[[2]conversation.Kind{before, kind}] = true
				before = kind
			}
			most = max(most, len(c.Request.Tools))
		}
		if most != 30 {
			t.Errorf("seed %d: at most %d tools, want 30", seed, most)
		}
		for _, pair := range [][2]conversation.Kind{
			{conversation.Question, conversation.Question},
			{conversation.Result, conversation.Question},
			{conversation.Result, conversation.Result},
			{conversation.Result, conversation.Call}, {conversation.Result, conversation.Answer},
			{conversation.Answer, conversation.System},
			{conversation.Answer, conversation.Question},
			{conversation.System, conversation.Developer},
			{conversation.Question, conversation.Call},
		} {
			if !seen[pair] {
				t.Errorf("seed %d: no %s stands before a %s", seed, pair[0], pair[1])
			}
		}
	}
}

// TestLeaves gives every leaf words of its own, and finds each at its path in a template's output.
func TestLeaves(t *testing.T) {
	tmpl, err := chattemplate.Compile(t.Context(), source.New("test", "{{ tools }}{{ messages }}"),
		"", "",
		subject.Now)
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range conversation.New(1).Conversations {
		in := c.Input(nil)
		o, err := tmpl.Observe(in)
		if err != nil {
			t.Fatal(err)
		}
		seen := map[string]string{}
		for _, l := range conversation.Leaves(in) {
			if !slices.ContainsFunc(o.Runs, func(r jinja.Run) bool { return r.Path == l.Path }) {
				t.Errorf("%s: nothing of %s is in the "+
					"prompt, the %s %q", c.Name, l.Path, l.Part, l.Text)
			}
			if other, ok := seen[l.Text]; ok && l.Part == conversation.Content {
				t.Errorf("%s: %s and %s are both %q", c.Name, l.Path, other, l.Text)
			}
			seen[l.Text] = l.Path
		}
	}
}

// TestExplore reaches branches that only a guided search can reach: a field that no client sends, a
// literal in a text, a value of a switch that only the template knows, and one of these inside
// another.
func TestExplore(t *testing.T) {
	for text, want := range map[string]bool{
		"{% for m in messages %}{% if m.frob is defined %}x{% endif %}{% endfor %}": true,
		"{% for m in messages %}" +
			"{% if m.content is string and '<secret>' in m.content %}x{% endif %}" +
			"{% endfor %}": true,
		"{% if mode == 'deep' %}{% if depth == 'very' %}x{% endif %}{% endif %}":      true,
		"{% for d in documents %}{% if d.title %}x{% else %}y{% endif %}{% endfor %}": true,
		"{% if messages[0].role == 'narrator' %}{% if messages[0].voice == 'low' %}x" +
			"{% endif %}{% endif %}": true,
		"{% if tools %}{% for t in tools %}" +
			"{% if t.function.parameters.weight is number %}x{% endif %}{% endfor %}" +
			"{% endif %}": true,
		// the shape that the template asks for
		"{% for m in messages %}" +
			"{% if m.content is mapping and 'parts' in m.content %}" +
			"{% for p in m.content.parts %}{% if p.kind == 'sound' %}x" +
			"{% elif p.kind == 'word' %}{{ 'a' + p.word }}{% else %}" +
			"{{ raise_exception('no') }}{% endif %}{% endfor %}{% endif %}{% endfor %}": true,
		// a key of an object that the template spells out
		"{% set names = {'de': 'German', 'fr': 'French'} %}{% for m in messages %}" +
			"{{ 'in ' + names[m.from] + names[m.to] }}{% if m.content %}x{% endif %}" +
			"{% endfor %}": true,
		// literals at both ends of a text
		"{% for m in messages %}" +
			"{% if m.content.startswith('<r>') and m.content.endswith('</r>') %}x" +
			"{% endif %}{% endfor %}": true,
		"{% macro text(c) %}{% if c is string %}{{- c }}{% endif %}{% endmacro %}" +
			"{% for m in messages[::-1] %}{% if m.role == 'user' %}" +
			"{% set c = text(m.content)|trim %}" +
			"{% if not (c.startswith('<r>') and c.endswith('</r>')) %}x{% endif %}{% endif %}" +
			"{% endfor %}": true,
		// tools that are null, and tools without the object around a function
		"{% if tools is none %}x{% endif %}": true,
		"{% for t in tools %}{{ 'f ' + t.name }}" +
			"{% for k, v in t.parameters.properties.items() %}{{ 'p ' + k }}" +
			"{% if v.type == 'boolean' %}x{% endif %}{% endfor %}{% endfor %}": true,
		// a schema in a schema, by a macro that calls itself
		"{% macro kind(s) %}{% if s.type == 'array' %}" +
			"{% if s['items'].type == 'boolean' and s.nullable %}x{% else %}" +
			"{{ kind(s['items']) }}{% endif %}{% elif s.type == 'object' %}" +
			"{% for k, v in s.properties.items() %}{{ kind(v) }}{% endfor %}{% endif %}" +
			"{% endmacro %}{% for t in tools %}{{ kind(t.function.parameters) }}" +
			"{% endfor %}": true,
		// parts in another order
		"{% for m in messages %}" +
			"{% if m.content is not string and m.content|length == 2 " +
			"and m.content[0].type == 'text' " +
			"and m.content[1].type == 'image_url' %}x" +
			"{% endif %}{% endfor %}": true,
		"{% if not messages %}x{% endif %}":                                       true,
		"{% if add_generation_prompt %}x{% endif %}":                              true,
		"{% if 1 > 2 %}x{% endif %}":                                              false,
		"{% if tools %}{% if not tools %}x{% endif %}{% endif %}":                 false,
		"{% if tools %}x{% elif messages and tools %}x{% endif %}":                false,
		"{% for m in messages %}{% if loop.index0 < 0 %}x{% endif %}{% endfor %}": false,
	} {
		tmpl, err := chattemplate.Compile(t.Context(), source.New("test", text), "", "",
			subject.Now)
		if err != nil {
			t.Fatal(err)
		}
		x := conversation.Explore(tmpl, conversation.New(1), nil, 1000, nil)
		reached, all := x.Counts()
		if (reached == all) != want {
			t.Errorf("%q: reached %d of %d", text, reached, all)
		}
		again := conversation.Explore(tmpl, conversation.New(1), nil, 1000, nil)
		if len(again.Conversations) != len(x.Conversations) || again.Renders != x.Renders {
			t.Errorf("%q: a second search goes another way", text)
		}
		if x.Renders > 1000 {
			t.Errorf("%q: %d renders", text, x.Renders)
		}
	}
}
