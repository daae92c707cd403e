package ordered

import "strings"

// Repeated returns the first key that an object in a JSON text has twice, and reports whether there
// is one: readers of JSON disagree about which of the two counts. The text must be valid, or the
// answer is any. It takes time in proportion to the text, and memory to the open objects' keys.
func Repeated(text string) (key string, ok bool) {
	var open []keys // of the objects and arrays around
	for i := 0; i < len(text); i++ {
		switch text[i] {
		case '{', '[':
			open = append(open, keys{array: text[i] == '['})
		case '}', ']':
			if len(open) == 0 {
				return "", false
			}
			open = open[:len(open)-1]
		case '"':
			from := i + 1
			for i++; i < len(text) && text[i] != '"'; i++ {
				if text[i] == '\\' {
					i++
				}
			}
			if i >= len(text) || len(open) == 0 {
				return "", false
			}
			in := &open[len(open)-1]
			if in.array || !strings.HasPrefix(strings.TrimLeft(text[i+1:], " \t\r\n"), ":") {
				continue
			}
			key := text[from:i]
			if strings.IndexByte(key, '\\') >= 0 {
				v, err := ParseString(text[from-1 : i+1])
				if err != nil {
					return "", false
				}
				key = v.Text()
			}
			if in.has(key) {
				return key, true
			}
		}
	}
	return "", false
}

// keys are the keys of an object so far.
type keys struct {
	array bool
	few   []string
	many  map[string]bool // all of them, from indexFrom on
}

// has reports whether a key is among them, and adds it.
func (k *keys) has(key string) bool {
	if k.many != nil {
		n := len(k.many)
		k.many[key] = true
		return len(k.many) == n
	}
	for _, other := range k.few {
		if other == key {
			return true
		}
	}
	if k.few = append(k.few, key); len(k.few) == indexFrom {
		k.many = make(map[string]bool, 2*indexFrom)
		for _, key := range k.few {
			k.many[key] = true
		}
	}
	return false
}
