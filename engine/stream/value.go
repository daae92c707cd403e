package stream

import (
	"bytes"
	"strings"

	"github.com/goassay/assay/engine/codec"
	"github.com/goassay/assay/engine/codegen"
	"github.com/goassay/assay/engine/schema"
)

// addValue adds text of a value. A raw string goes on, escaped, less the part that cannot be
// understood yet: white space at its edges, half an entity.
func (c *call) addValue(text []byte) {
	c.value = append(c.value, text...)
	if c.info.Mode == codegen.ValueRaw {
		c.flushValue(false, "")
	}
}

// flushValue writes the held part of a raw string, without the white space that the template writes
// at its edges. all: nothing is held any more; before: white space at the end that is not the
// value's.
func (c *call) flushValue(all bool, before string) {
	v := c.value
	if c.fresh {
		n := 0
		for n < len(v) && n < len(c.info.After) && v[n] == c.info.After[n] {
			n++
		}
		if n == len(v) && n < len(c.info.After) && !all {
			return
		}
		v = v[n:]
		c.fresh = false
	}
	end := len(v)
	if !c.verbatim && !all { // of the white space at the end, as much may not be the value's
		for end > 0 && len(v)-end < len(c.info.Before) && isSpace(v[end-1]) {
			end--
		}
	}
	if all && !c.verbatim {
		for i := len(before); end > 0 && i > 0 && v[end-1] == before[i-1]; i-- {
			end--
		}
		v = v[:end]
	}
	if c.info.Entity && !c.verbatim {
		if i := bytes.LastIndexByte(v[:end], '&'); !all && i >= 0 && end-i < codec.MaxEntity &&
			bytes.IndexByte(v[i:end], ';') < 0 {
			end = i
		}
		c.writeString(codec.Unescape(string(v[:end])))
	} else {
		c.writeString(string(v[:end]))
	}
	c.value = append(c.value[:0], v[end:]...)
}

// writeString writes text inside a JSON string.
func (c *call) writeString(text string) {
	if text != "" {
		c.putBytes(codec.AppendText(nil, text))
	}
}

// endValue ends a value: with its closing marker, or where the output breaks off.
func (c *call) endValue(closed bool) {
	c.inValue = false
	if c.info.Mode == codegen.ValueRaw {
		before := ""
		if closed {
			before = c.info.Before
		}
		c.flushValue(true, before)
		if closed {
			c.put(`"`)
		}
		return
	}
	text := strings.TrimPrefix(string(c.value), c.info.After)
	if closed {
		text = strings.TrimSuffix(text, c.info.Before)
	}
	if c.info.Entity {
		text = codec.Unescape(text)
	}
	switch {
	case closed:
		c.putJSON(codec.Decode(nil, text, c.info.Types, false))
	case c.info.Types&schema.String != 0: // JSON, as much of it as came
		c.putJSON([]byte(strings.TrimSpace(text)))
	default:
		c.put(`"`)
		c.writeString(text)
	}
}
