package model_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"

	"github.com/goassay/assay/engine"
	"github.com/goassay/assay/engine/model"
	"github.com/goassay/assay/engine/model/gguf"
)

// Inspect reads the header of a model file and judges its templates. A model without one that can
// call tools is rejected, with the reason.
func ExampleInspect() {
	dir, err := os.MkdirTemp("", "model")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer os.RemoveAll(dir)
	for _, template := range []string{bothTemplate, plainTemplate} {
		name := filepath.Join(dir, "model.gguf")
		file, err := os.Create(name)
		if err != nil {
			fmt.Println(err)
			return
		}
		err = gguf.Create(file, nil,
			[]gguf.Pair{{Key: "tokenizer.chat_template", Value: gguf.Text(template)}}, nil)
		if file.Close(); err != nil {
			fmt.Println(err)
			return
		}
		m, err := model.Inspect(context.Background(), name, engine.Options{})
		if err != nil {
			fmt.Println(err)
			return
		}
		fmt.Println("supports tools:", m.SupportsTools())
		if m.Rejection != nil {
			fmt.Println(m.Rejection)
		}
	}
	// Output:
	// supports tools: true
	// supports tools: false
	// chat template does not support tool calling (supports_tools=false, supports_tool_calls=false)
}
