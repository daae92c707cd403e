package analysis_test

import (
	"fmt"
	"strconv"
	"strings"
	"testing"

	"github.com/goassay/assay/engine/format"
	"github.com/goassay/assay/engine/internal/analysis"
)

// namedMarkers are templates whose markers are named: «x» stands for the marker x.
var namedMarkers = []struct{ name, source string }{
	{"an object", `{% if tools %}{{ tools|tojson }}«eot»
{% endif %}
{%- for m in messages %}
{%- if m.role == 'assistant' %}«bot»{% if m.reasoning_content %}«think»{{ m.reasoning_content }}«unthink»{% endif %}{{ m.content or '' }}
{%- for c in m.tool_calls or [] %}«call»{"name": {{ c.function.name|tojson }}, "arguments": {{ c.function.arguments|tojson }}}«uncall»{% endfor %}«eot»
{% else %}«other»{{ m.content }}«eot»
{% endif %}
{%- endfor %}
{%- if add_generation_prompt %}«bot»{% endif %}`},
	{"a section of names and arguments", `{% if tools %}{{ tools|tojson }}«eot»{% endif %}
{%- for m in messages %}
{%- if m.role == 'assistant' %}«bot»{% if m.reasoning_content %}«think»{{ m.reasoning_content }}«unthink»{% endif %}{{ m.content or '' }}
{%- if m.tool_calls %}«calls»{% for c in m.tool_calls %}«call»{{ c.function.name }}«with»{{ c.function.arguments|tojson }}«uncall»{% endfor %}«uncalls»{% endif %}«eot»
{%- else %}«other»{{ m.content }}«eot»{% endif %}
{%- endfor %}
{%- if add_generation_prompt %}«bot»{% endif %}`},
	{"wrapped content", `{% if tools %}{{ tools|tojson }}«eot»{% endif %}
{%- for m in messages %}
{%- if m.role == 'assistant' %}«bot»{% if m.reasoning_content %}«think»{{ m.reasoning_content }}«unthink»{% endif %}{% if m.content %}«say»{{ m.content }}«unsay»{% endif %}
{%- for c in m.tool_calls or [] %}«call»{{ c.function|tojson }}«uncall»{% endfor %}«eot»
{%- else %}«other»{{ m.content }}«eot»{% endif %}
{%- endfor %}
{%- if add_generation_prompt %}«bot»{% endif %}`},
	{"keys and values", `{% if tools %}{{ tools|tojson }}«eot»{% endif %}
{%- for m in messages %}
{%- if m.role == 'assistant' %}«bot»{% if m.reasoning_content %}«think»{{ m.reasoning_content }}«unthink»{% endif %}{{ m.content or '' }}
{%- for c in m.tool_calls or [] %}«call»{{ c.function.name }}{% for k, v in c.function.arguments.items() %}«key»{{ k }}«value»{{ v if v is string else v|tojson }}«unvalue»{% endfor %}«uncall»{% endfor %}«eot»
{%- else %}«other»{{ m.content }}«eot»{% endif %}
{%- endfor %}
{%- if add_generation_prompt %}«bot»{% endif %}`},
}

// markerWords are words of five scripts, and shapes are ways to make markers of them: %s is the
// word.
var (
	markerWords = [][]string{
		{"calls", "uncalls", "call", "uncall", "think", "unthink", "say", "unsay", "with", "key", "value", "unvalue", "eot", "bot", "other"},
		{"вызовы", "конецвызовов", "вызов", "конецвызова", "мысль", "конецмысли", "ответ", "конецответа", "данные", "ключ", "знач", "конецзнач", "всё", "робот", "другой"},
		{"κλήσεις", "τέλοςκλήσεων", "κλήση", "τέλοςκλήσης", "σκέψη", "τέλοςσκέψης", "λόγος", "τέλοςλόγου", "με", "κλειδί", "τιμή", "τέλοςτιμής", "τέλος", "ρομπότ", "άλλος"},
		{"نداءات", "نهايةنداءات", "نداء", "نهايةنداء", "فكر", "نهايةفكر", "جواب", "نهايةجواب", "مع", "مفتاح", "قيمة", "نهايةقيمة", "تم", "آلي", "آخر"},
		{"कॉल्स", "अंतकॉल्स", "कॉल", "अंतकॉल", "सोच", "अंतसोच", "उत्तर", "अंतउत्तर", "साथ", "कुंजी", "मान", "अंतमान", "समाप्त", "बॉट", "अन्य"},
		{"呼叫们", "呼叫们完", "呼叫", "呼叫完", "思考", "思考完", "回答", "回答完", "参数", "键", "值", "值完", "结束", "助手", "他人"},
		{"🧰🧰", "📦📦", "🔧", "🔩", "💭", "💡", "💬", "🗨️", "➕", "🔑", "📎", "🖇️", "🔚", "👩‍💻", "🙂"},
	}
	markerShapes = []string{"⁂%s⁂", "§%s§", "•%s•", "※%s※", "##%s##", "**%s**", "@@%s@@", "|%s|",
		"~%s~", "—%s—", "→%s←", "“%s”", "⦃%s⦄", "⟪%s⟫", "‡%s", "%s☞", "⚙️%s⚙️", "%s", "%s:",
		"<|%s|>", "%s\n"}
)

// TestMarkersOfAnyGlyphs checks that a format is found whatever the markers look like: with other
// markers it is the same, except for these.
func TestMarkersOfAnyGlyphs(t *testing.T) {
	names := markerWords[0]
	named := func(source string, name func(word string) string) string {
		var pairs []string
		for _, n := range names {
			pairs = append(pairs, "«"+n+"»", "{{ "+strconv.Quote(name(n))+" }}")
		}
		return strings.NewReplacer(pairs...).Replace(source)
	}
	for _, tt := range namedMarkers {
		want := spelled(analyze(t,
			named(tt.source, func(w string) string { return "<|" + w + "|>" })))
		for i, words := range markerWords {
			for _, shape := range markerShapes {
				marker := func(n string) string {
					for j, w := range names {
						if w == n {
							return fmt.Sprintf(shape, words[j])
						}
					}
					return n
				}
				a := analyze(t, named(tt.source, marker))
				var pairs []string
				for _, n := range names {
					pairs = append(pairs, "<|"+n+"|>", marker(n))
				}
				if got, want := spelled(a), strings.NewReplacer(pairs...).
					Replace(want); got != want {
					t.Errorf("%s, %q, words "+
						"%d:\ngot  %q\nwant %q\n%v", tt.name, shape, i, got, want, a.Format)
				}
			}
		}
	}
}

// TestWordsThatMeet checks that markers which are words of one script or of two are told apart
// where nothing stands between them.
func TestWordsThatMeet(t *testing.T) {
	for _, words := range [][4]string{ // before and after a key, after a value and after a call
		{"ключ", "знач", "конец", "всё"},
		{"key", "ταδε", "хватит", "结束"},
		{"мысль", "value", "نهاية", "ключ"},
	} {
		entry := fmt.Sprintf(`%s{{ k }}%s{{ v if v is string else v|tojson }}%s`, words[0], words[1], words[2])
		a := analyze(t, `{{ tools|tojson if tools }}{% for m in messages %}<{{ m.role }}>{{ m.content or '' }}{% for c in m.tool_calls or [] %}<call>{{ c.function.name }}`+
			`<with>{% for k, v in c.function.arguments.items() %}`+entry+`{% endfor %}`+words[3]+`{% endfor %}<end>{% endfor %}{% if add_generation_prompt %}<assistant>{% endif %}`)
		want := fmt.Sprintf("args: tagged\narg: %q {key} %q {value} %q\ncodec: raw\ntail: %q\n", words[0], words[1], words[2], words[3])
		if !strings.HasSuffix(a.Format.String(), want) {
			t.Errorf("%q: got\n%s\nwant\n%s", words, a.Format, want)
		}
	}
}

// spelled is the text of a format, however it is divided between calls and sections.
func spelled(a *analysis.Analysis) string {
	f := a.Format
	var b strings.Builder
	fmt.Fprintf(&b, "%s‖%s‖%s‖%s‖%s‖", f.Header, f.Reasoning.Open.Full(), f.Reasoning.Close.Full(),
		f.Content.Open.Full(), f.Content.Close.Full())
	for _, c := range f.Calls {
		parts := func(ps []format.Part) (s string) {
			for _, p := range ps {
				if p.Kind == format.SlotLit {
					s += p.Text.Full()
				} else {
					s += fmt.Sprintf("{%d}", p.Kind)
				}
			}
			return s
		}
		call := parts(c.Head) + c.Body.Open.Full() + parts(c.Body.Entry) + c.Body.Sep.Full() +
			parts(c.Body.Entry) + c.Body.Close.Full() + parts(c.Tail)
		if c.Object != nil {
			call = c.Object.String()
		}
		call = c.Call.Open.Full() + call + c.Call.Close.Full()
		b.WriteString(c.Section.Open.Full() + call + c.Sep.Full() + call + c.Section.Close.Full())
	}
	if len(f.End) > 0 {
		b.WriteString("‖" + f.End[0])
	}
	return b.String()
}
