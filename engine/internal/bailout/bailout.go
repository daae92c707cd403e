// Package bailout lets functions that call each other give up at the first fault: they panic with
// an error, which the one at the top returns. Readers of a format are written so, whose every step
// may meet a fault.
package bailout

// Catch is deferred by the function at the top. It sets err where a function below has panicked
// with an error of type E; other panics go on.
func Catch[E error](err *error) {
	switch fault := recover().(type) {
	case nil:
	case E:
		*err = fault
	default:
		panic(fault)
	}
}
