package jinja

import (
	"slices"
	"strings"
)

// globals is every global function by name. It is filled once and never changed.
var globals map[string]Value

// lookupGlobal returns a global of the environment.
func lookupGlobal(name string) (Value, bool) {
	v, ok := globals[name]
	return v, ok
}

// maxRange is the sandbox's limit on the length of a range.
const maxRange = 100_000

func initGlobals() {
	globals = map[string]Value{}
	classes := map[string]string{
		"dict": "dict", "namespace": "jinja2.utils.Namespace", "cycler": "jinja2.utils.Cycler",
		"joiner": "jinja2.utils.Joiner",
	}
	for _, t := range []entryOf{
		{"range", "/ start stop? step?", makeRange},
		{"dict", "/ other? **", func(c *call) Value {
			d := c.dict(len(c.kwargs))
			updateDict(c, d)
			return dictValue(d)
		}},
		{"lipsum", "n? html? min? max?", lipsum},
		{"cycler", "*", func(c *call) Value {
			if len(c.args) == 0 {
				panic(errf(RuntimeError, "at least one item has to be provided"))
			}
			return objectValue(&cycler{items: slices.Clone(c.args)})
		}},
		{"joiner", "sep?", func(c *call) Value {
			return objectValue(&joiner{sep: c.arg(0, stringValue(", "))})
		}},
		{"namespace", "/ other? **", func(c *call) Value {
			n := c.namespaces.One()
			n.attrs.entries = c.entries.Take(len(c.kwargs))[:0]
			updateDict(c, &n.attrs)
			return Value{kind: Namespace, ref: ptr(n)}
		}},
		{"raise_exception", "message", func(c *call) Value {
			panic(errf(TemplateError, "%s", str(c.eval, c.args[0]).text()))
		}},
		{"strftime_now", "format", func(c *call) Value {
			if !c.args[0].isString() {
				panic(errf(TypeError, "strftime() argument 1 "+
					"must be str, not %s", typeName(c.args[0])))
			}
			if c.now == nil {
				panic(errf(RuntimeError, "strftime_now has no clock: none was "+
					"given to this render"))
			}
			text := strftime(c.eval, c.now(), c.args[0].text())
			c.charge(len(text))
			return c.computed(stringValue(text))
		}},
	} {
		b := t.builtin()
		f := &function{builtin: b}
		if class, ok := classes[t.name]; ok {
			b.name, b.attrs = class, map[string]*builtin{}
		}
		if t.name == "dict" {
			b.attrs["fromkeys"] = methodTables[Dict]["fromkeys"]
		}
		globals[t.name] = functionValue(f)
	}
}

func makeRange(c *call) Value {
	for _, v := range c.args {
		if v.kind == BigInt {
			panic(errf(OverflowError, "Range too big. The sandbox blocks ranges larger "+
				"than MAX_RANGE (%d).", maxRange))
		}
	}
	n := toInt(c.args[0])
	r := rangeObject{0, int64(n), 1}
	if c.given(1) {
		stop := toInt(c.args[1])
		r.start, r.stop = int64(n), int64(stop)
	}
	if c.given(2) {
		step := toInt(c.args[2])
		r.step = int64(step)
		if step == 0 {
			panic(errf(ValueError, "range() arg 3 must not be zero"))
		}
	}
	if uint64(r.len()) > maxRange {
		panic(errf(OverflowError, "Range too big. The sandbox blocks ranges larger "+
			"than MAX_RANGE (%d).", maxRange))
	}
	return rangeValue(r.start, r.stop, r.step)
}

// method is a bound function of an object.
func method(name string, run func(c *call) Value) Value {
	return functionValue(&function{builtin: &builtin{name: name, run: run}})
}

// cycler goes round its items.
type cycler struct {
	items []Value
	pos   int
}

func (cy *cycler) typeName() string { return "Cycler" }
func (cy *cycler) repr() string     { return "<jinja2.utils.Cycler object" + address }

func (cy *cycler) attr(e *eval, name string) (Value, bool) {
	switch name {
	case "current":
		return cy.items[cy.pos], true
	case "items":
		return e.tuple(cy.items...), true
	case "pos":
		return intValue(cy.pos), true
	case "next":
		return method(name, func(*call) Value {
			v := cy.items[cy.pos]
			cy.pos = (cy.pos + 1) % len(cy.items)
			return v
		}), true
	case "reset":
		return method(name, func(*call) Value {
			cy.pos = 0
			return noneValue()
		}), true
	}
	return Value{}, false
}

// joiner is empty the first time it is called, and its separator afterwards.
type joiner struct {
	sep  Value
	used bool
}

func (j *joiner) typeName() string { return "Joiner" }
func (j *joiner) repr() string     { return "<jinja2.utils.Joiner object" + address }

func (j *joiner) attr(_ *eval, name string) (Value, bool) {
	switch name {
	case "sep":
		return j.sep, true
	case "used":
		return boolValue(j.used), true
	}
	return Value{}, false
}

func (j *joiner) call(c *call) Value {
	if len(c.args) > 0 || len(c.kwargs) > 0 {
		panic(errf(TypeError, "Joiner.__call__() takes 1 positional argument "+
			"but %d were given", len(c.args)+1))
	}
	if !j.used {
		j.used = true
		return stringValue("")
	}
	return j.sep
}

const lipsumWords = "a ac accumsan ad adipiscing aenean aliquam aliquet amet ante aptent arcu at " +
	"auctor augue bibendum" +
	" blandit commodo condimentum congue consectetuer consequat convallis cras cubilia cum " +
	"curabitur cursus dapibus diam" +
	" dictum dignissim dis dolor donec dui duis egestas eget eleifend elementum elit enim erat " +
	"eros est et etiam eu" +
	" facilisi fames faucibus felis fermentum feugiat fringilla fusce gravida habitant hendrerit " +
	"iaculis id imperdiet in" +
	" integer interdum ipsum justo lacinia lacus laoreet lectus leo libero ligula lobortis lorem " +
	"luctus maecenas magna" +
	" mattis mauris metus mi mollis montes morbi mus nam nascetur natoque nec neque nibh nisi " +
	"nisl non nonummy nulla nunc" +
	" odio orci ornare parturient pede pellentesque penatibus pharetra placerat porta porttitor " +
	"posuere potenti praesent" +
	" primis proin pulvinar purus quam quis rhoncus ridiculus risus rutrum sagittis " +
	"sapien scelerisque sed sem semper sit" +
	" sociis sodales sollicitudin suscipit suspendisse taciti tellus tempor tempus tincidunt " +
	"torquent tortor tristique" +
	" turpis ullamcorper ultrices ultricies urna ut varius vehicula vel velit venenatis " +
	"vestibulum vitae vivamus viverra" +
	" volutpat vulputate"

// lipsum writes n paragraphs of between min and max-1 words of filler text, drawn with the render's
// seed.
func lipsum(c *call) Value {
	n := toInt(c.arg(0, intValue(5)))
	asHTML := c.flag(1, true)
	low := toInt(c.arg(2, intValue(20)))
	high := toInt(c.arg(3, intValue(100)))
	words := strings.Fields(lipsumWords)
	var paragraphs []string
	for range n {
		if low >= high {
			panic(errf(ValueError, "empty range for randrange() (%d, %d, %d)", low, high, high-low))
		}
		count := low + c.rand.IntN(high-low)
		c.chargeProduct(max(count, 1), 16)
		paragraphs = append(paragraphs, paragraph(c.eval, words, count))
	}
	if !asHTML {
		return stringValue(strings.Join(paragraphs, "\n\n"))
	}
	for i, p := range paragraphs {
		paragraphs[i] = "<p>" + p + "</p>"
	}
	return markupValue(strings.Join(paragraphs, "\n"))
}

func paragraph(e *eval, words []string, count int) string {
	var b strings.Builder
	capital, comma, stop := true, 0, 0
	last := ""
	for i := range count {
		word := words[e.rand.IntN(len(words))]
		for word == last {
			word = words[e.rand.IntN(len(words))]
		}
		last = word
		if capital {
			word, capital = capitalCase(word), false
		}
		if i-3-e.rand.IntN(5) > comma {
			comma = i
			stop += 2
			word += ","
		}
		if i-10-e.rand.IntN(10) > stop {
			comma, stop, capital = i, i, true
			word += "."
		}
		if i > 0 {
			b.WriteByte(' ')
		}
		b.WriteString(word)
	}
	text := b.String()
	switch {
	case strings.HasSuffix(text, ","):
		return text[:len(text)-1] + "."
	case strings.HasSuffix(text, "."):
		return text
	}
	return text + "."
}

// HasFunction reports whether the environment has a function of a name.
func HasFunction(name string) bool {
	_, ok := lookupGlobal(name)
	return ok
}
