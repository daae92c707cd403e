package vector

import (
	"context"
	"errors"
	"fmt"
)

func (v *Verifier) caps(ctx context.Context, vec *Vector) error {
	t, err := v.template(ctx, vec)
	if err != nil {
		return err
	}
	chat, err := t.chat()
	if err != nil {
		return err
	}
	var wrong []error
	for _, m := range vec.Value.At("want").Members() {
		if has, known := chat.Caps().Supports(m.Key); !known {
			wrong = append(wrong, fmt.Errorf("%s is not a capability that the engine knows", m.Key))
		} else if has != m.Value.Bool() {
			wrong = append(wrong, fmt.Errorf("%s is %t, want %t", m.Key, has, m.Value.Bool()))
		}
	}
	return errors.Join(wrong...)
}
