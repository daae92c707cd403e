package bench

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"time"
	"unicode/utf8"
)

// Table shows measurements to people: a Markdown table whose columns stand under each other.
type Table struct {
	rows [][]string
}

// Add adds a row. The first one is the head.
func (t *Table) Add(cells ...string) { t.rows = append(t.rows, cells) }

// String prints the table; all columns but the first are set to the right.
func (t *Table) String() string {
	widths := make([]int, len(t.rows[0]))
	for _, row := range t.rows {
		for i, cell := range row {
			widths[i] = max(widths[i], utf8.RuneCountInString(cell))
		}
	}
	var b strings.Builder
	for n, row := range t.rows {
		for i, cell := range row {
			pad := strings.Repeat(" ", widths[i]-utf8.RuneCountInString(cell))
			if i == 0 {
				b.WriteString("| " + cell + pad)
			} else {
				b.WriteString(" | " + pad + cell)
			}
		}
		b.WriteString(" |\n")
		if n == 0 {
			for i, w := range widths {
				if i == 0 {
					b.WriteString("| " + strings.Repeat("-", w))
				} else {
					b.WriteString(" | " + strings.Repeat("-", w-1) + ":")
				}
			}
			b.WriteString(" |\n")
		}
	}
	return b.String()
}

// Took prints a duration with three digits.
func Took(d time.Duration) string {
	for _, u := range []struct {
		name string
		unit time.Duration
	}{{"s", time.Second}, {"ms", time.Millisecond}, {"µs", time.Microsecond}} {
		if d >= u.unit {
			return digits(float64(d)/float64(u.unit)) + " " + u.name
		}
	}
	return fmt.Sprint(d.Nanoseconds(), " ns")
}

// Rate prints bytes per time.
func Rate(bytes int, d time.Duration) string {
	return digits(float64(bytes)/d.Seconds()/1e9) + " GB/s"
}

// Times prints a ratio.
func Times(ratio float64) string { return digits(ratio) + "×" }

func digits(x float64) string {
	switch {
	case x >= 100:
		return fmt.Sprintf("%.0f", x)
	case x >= 10:
		return fmt.Sprintf("%.1f", x)
	}
	return fmt.Sprintf("%.2f", x)
}

// Machine describes the machine: processor, cores, system, Go.
func Machine() string {
	model := runtime.GOARCH
	if text, err := os.ReadFile("/proc/cpuinfo"); err == nil {
		for line := range strings.Lines(string(text)) {
			if name, value, ok := strings.Cut(line, ":"); ok &&
				strings.TrimSpace(name) == "model name" {
				model = strings.TrimSpace(value)
				break
			}
		}
	} else if out, err := exec.Command("sysctl", "-n", "machdep.cpu.brand_string").
		Output(); err == nil {
		model = strings.TrimSpace(string(out))
	}
	return fmt.Sprintf("%s, %d cores, %s/%s, %s", model, runtime.NumCPU(), runtime.GOOS,
		runtime.GOARCH, runtime.Version())
}

// Publish prints a text, and puts it into a page, where one is named, between the comments
// `<!-- name -->` and `<!-- end name -->`.
func Publish(page, name, text string) error {
	fmt.Print(text)
	if page == "" {
		return nil
	}
	old, err := os.ReadFile(page)
	if err != nil {
		return err
	}
	head, rest, ok := bytes.Cut(old, []byte("<!-- "+name+" -->\n"))
	_, tail, ok2 := bytes.Cut(rest, []byte("<!-- end "+name+" -->"))
	if !ok || !ok2 {
		return fmt.Errorf("%s has no place for a table: <!-- %s --> and <!-- end %s -->, each on a line of its own", page, name, name)
	}
	return os.WriteFile(page, fmt.Appendf(nil, "%s<!-- %s -->\n\n%s\n<!-- end %s -->%s", head, name,
		text, name, tail), 0o666)
}
