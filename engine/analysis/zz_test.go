package analysis
import ("testing";"os";"fmt";"github.com/goassay/assay/engine/chattemplate";"github.com/goassay/assay/engine/source";"github.com/goassay/assay/engine/ordered")
func TestZZ(t *testing.T) {
 text, _ := os.ReadFile("/tmp/deps/llama.cpp/models/templates/"+os.Getenv("T")+".jinja")
 ct, err := chattemplate.Compile(source.New("x", string(text)), "<s>", "</s>", nil)
 if err != nil { t.Fatal(err) }
 a := &analyzer{template: ct, seen: map[string]*observation{}}
 for _, p := range []probe{{content: textOf(""), calls: callsWith(2, member("vqkeya", ordered.Str("V")), member("vqkeyb", ordered.Num("3"))), tools: true}} {
  o := a.observe(p)
  fmt.Println(o.err)
  for _, at := range o.tail { fmt.Printf("%d call%d %q path=%q codec=%v exact=%v\n", at.kind, at.call, at.text, at.path, at.codec, at.exact) }
 }
}
