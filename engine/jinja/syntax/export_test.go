package syntax

import (
	"fmt"
	"reflect"
	"strconv"
	"strings"
)

// Show prints a part of a tree: names and literals as they are, every other node as its type with
// its fields in their order, a statement with its offset.
func Show(part any) string {
	switch n := part.(type) {
	case *Name:
		return n.Name
	case *Const:
		if n.Kind == String || n.Kind == Data {
			return strconv.Quote(n.Text)
		}
		return n.Text + map[ConstKind]string{None: "none", True: "true", False: "false"}[n.Kind]
	}
	v := reflect.Indirect(reflect.ValueOf(part))
	var parts []string
	switch v.Kind() {
	case reflect.Invalid:
		return "_"
	case reflect.Slice:
		for i := range v.Len() {
			parts = append(parts, Show(v.Index(i).Interface()))
		}
		return "[" + strings.Join(parts, " ") + "]"
	case reflect.Struct:
		for i := range v.NumField() {
			if _, place := v.Field(i).Interface().(Pos); !place {
				parts = append(parts, Show(v.Field(i).Interface()))
			}
		}
		at := ""
		if s, ok := part.(Stmt); ok {
			at = fmt.Sprint("@", s.Offset())
		}
		return v.Type().Name() + at + "(" + strings.Join(parts, " ") + ")"
	}
	return fmt.Sprint(v)
}
