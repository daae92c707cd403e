package main

import "testing"

// TestTabled reads a section of inputs.txt, and panics at what would be measured by nothing.
func TestTabled(t *testing.T) {
	whole := inputs
	defer func() { inputs = whole }()
	inputs = "About.\n\n# one\nflat: a⟦b⟧c\nlisted: ⏎[⟨%d⟩]\n\n# broken\nno piece\n"
	all := tabled("one")
	if len(all) != 2 || all[0].name != "flat" || all[0].make(3) != "abbbc" ||
		all[1].name != "listed" || all[1].make(1)[:2] != "\n[" {
		t.Errorf("one: %v", all)
	}
	for _, section := range []string{"typo", "broken"} {
		func() {
			defer func() {
				if recover() == nil {
					t.Errorf("%s: no panic", section)
				}
			}()
			tabled(section)
		}()
	}
}
