package small

import "testing"

func TestWord(t *testing.T) {
	if Word(0) != "some" || Word(1) != "some" {
		t.Error("expected some")
	}
}
