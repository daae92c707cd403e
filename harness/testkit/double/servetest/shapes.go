package servetest

import (
	"io"
	"strconv"
	"strings"

	"github.com/goassay/assay/engine/wire"
)

// A Shape makes bodies of any length that take much memory for their bytes: an opening, a piece
// again and again with commas between, and an end.
type Shape struct {
	Name             string
	Path             string // of the protocol
	open, piece, end string // %d in a piece is its number
}

// Body returns a body of at least so many bytes, made as it is read.
func (s Shape) Body(size int) io.Reader {
	return &shaped{s: s, left: size, part: s.open}
}

type shaped struct {
	s     Shape
	part  string // not yet read
	left  int    // bytes until the end
	n     int    // pieces so far
	ended bool
}

func (r *shaped) Read(p []byte) (n int, err error) {
	for n < len(p) {
		if r.part == "" {
			switch {
			case r.ended && n == 0:
				return 0, io.EOF
			case r.ended:
				return n, nil
			case r.left <= 0:
				r.ended, r.part = true, r.s.end
				continue
			}
			r.part = strings.ReplaceAll(r.s.piece, "%d", strconv.Itoa(r.n))
			if r.n++; r.n > 1 {
				r.part = "," + r.part
			}
		}
		k := copy(p[n:], r.part)
		r.part = r.part[k:]
		r.left -= k
		n += k
	}
	return n, nil
}

// asks has the member of each protocol that has the messages, and a list of them.
var asks = map[string][2]string{
	wire.ChatCompletions.Path(): {`"messages":`, `[{"role":"user","content":"x"}]`},
	wire.Responses.Path():       {`"input":`, `[{"role":"user","content":"x"}]`},
	wire.Messages.Path():        {`"max_tokens":9,"messages":`, `[{"role":"user","content":"x"}]`},
}

// schemas are shapes of the parameters of a tool.
var schemas = []Shape{
	{Name: "properties", open: `{"type":"object","properties":{`, piece: `"p%d":{"type":"string"}`,
		end: `}}`},
	{Name: "properties of any type", open: `{"type":"object","properties":{`, piece: `"%d":{}`,
		end: `}}`},
	{Name: "required", open: `{"type":"object","required":[`, piece: `"%d"`, end: `]}`},
	{Name: "bounds", open: `{"type":"object","properties":{`,
		piece: `"p%d":{"type":"number","minimum":-%d.5,"maximum":1%d}`, end: `}}`},
	{Name: "formats", open: `{"type":"object","properties":{`,
		piece: `"p%d":{"type":"string","format":"date-time"}`, end: `}}`},
	{Name: "enums", open: `{"type":"object","properties":{`, piece: `"p%d":{"enum":["a%d","b",1]}`,
		end: `}}`},
	{Name: "enum of objects", open: `{"type":"object","properties":{"a":{"enum":[`,
		piece: `{"a":%d,"b":{}}`, end: `]}}}`},
	{Name: "tuple", open: `{"type":"object","properties":{"a":{"type":"array","prefixItems":[`,
		piece: `{"type":"string"}`, end: `]}}}`},
	{Name: "default", open: `{"type":"object","default":[`, piece: `0`, end: `]}`},
}

// Shapes are those of bodies whose values are no tools.
func Shapes() []Shape {
	var all []Shape
	for _, p := range wire.All {
		path := p.Path()
		ask := asks[path]
		add := func(name, open, piece, end string) {
			all = append(all, Shape{Name: name + " in " + p.Name(), Path: path, open: open,
				piece: piece, end: end})
		}
		deep := strings.Repeat("[", 900)
		add("empty objects", `[`, `{}`, `]`)
		add("messages that are numbers", `{`+ask[0]+`[`, `0`, `]}`)
		add("empty messages", `{`+ask[0]+`[`, `{}`, `]}`)
		add("tiny messages", `{`+ask[0]+`[`, `{"role":"user","content":"a"}`, `]}`)
		add("messages with keys", `{`+ask[0]+`[`,
			`{"role":"user","content":"a","a":0,"b":0,"c":0,"d":0}`, `]}`)
		add("tiny parts", `{`+ask[0]+`[{"role":"user","content":[`,
			`{"type":"`+map[bool]string{true: "input_text", false: "text"}[p == wire.Responses]+
				`","text":"a"}`, `]}]}`)
		rest := `{` + ask[0] + ask[1] + `,`
		add("empty objects in metadata", rest+`"metadata":[`, `{}`, `]}`)
		add("lists in lists", rest+`"metadata":[`, `[[]]`, `]}`)
		add("keys", rest+`"metadata":{`, `"%d":0`, `}}`)
		add("deep lists", rest+`"metadata":[`, deep+strings.ReplaceAll(deep, "[", "]"), `]}`)
		add("deep objects", rest+`"metadata":[`, strings.Repeat(`{"":`, 900)+"0"+
			strings.Repeat("}", 900), `]}`)
		add("variables", rest+`"chat_template_kwargs":{"a":[`, `0`, `]}}`)
		add("keys of variables", rest+`"chat_template_kwargs":{`, `"a%d":0`, `}}`)
		add("stops", rest+`"stop":[`, `"a"`, `]}`)
		add("text", `{`+ask[0]+`[{"role":"user","content":"`, strings.Repeat("word ", 100), `"}]}`)
		add("escapes", `{`+ask[0]+`[{"role":"user","content":"`, strings.Repeat(`\n`, 100), `"}]}`)
	}
	call := func(name, open, piece, end string) Shape {
		return Shape{Name: name, Path: wire.ChatCompletions.Path(), open: `{"messages":[` +
			`{"role":"user","content":"a"},{"role":"assistant","tool_calls":[` + open, piece: piece,
			end: end + `]}]}`}
	}
	const function = `{"type":"function","id":"a","function":{"name":"a","arguments":"`
	return append(all, call("calls", ``, function+`{}"}}`, ``),
		call("arguments", function+`{\"a\":[`, `0`, `]}"}}`),
		call("arguments with escaped commas", function+`{\"a\":[0`, `0\u002c0`, `]}"}}`))
}

// Tools are shapes of bodies with tools and schemas.
func Tools() []Shape {
	const rest = `{"messages":[{"role":"user","content":"x"}],`
	path := wire.ChatCompletions.Path()
	all := []Shape{
		{Name: "tools", Path: path, open: rest + `"tools":[`,
			piece: `{"type":"function","function":{"name":"a%d"}}`, end: `]}`},
		{Name: "tools with a parameter", Path: path, open: rest + `"tools":[`,
			piece: `{"type":"function","function":{"name":"a%d","parameters":{"type":"object",` +
				`"properties":{"a":{}}}}}`, end: `]}`},
	}
	for _, s := range schemas {
		tool, answer := s, s
		tool.Name, tool.Path = s.Name+" of a tool", path
		tool.open = rest + `"tools":[{"type":"function","function":{"name":"f","parameters":` +
			s.open
		tool.end += `}}]}`
		answer.Name, answer.Path = s.Name+" of an answer", path
		answer.open = rest + `"response_format":{"type":"json_schema","json_schema":{"name":"a",` +
			`"schema":` + s.open
		answer.end += `}}}`
		all = append(all, tool, answer)
	}
	for _, p := range wire.All[1:] {
		name := map[bool]string{true: "input_schema", false: "parameters"}[p == wire.Messages]
		all = append(all, Shape{Name: "tools in " + p.Name(), Path: p.Path(),
			open: `{` + asks[p.Path()][0] + asks[p.Path()][1] + `,"tools":[`,
			piece: strings.Replace(`{"name":"a%d","`+name+`":{"type":"object"},"type":"T"}`, "T",
				map[bool]string{true: "custom", false: "function"}[p == wire.Messages], 1),
			end: `]}`})
	}
	return all
}
