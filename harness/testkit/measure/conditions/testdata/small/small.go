// Package small is measured by a test.
package small

// Word names a number.
func Word(n int) string {
	if n > 100 {
		if n == 7 {
			return "never"
		}
		return "many"
	}
	if n == 0 {
		return Default
	}
	return "some"
}

// Default is what no number is called.
var Default = "some"
