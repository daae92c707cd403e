//go:build unix

package bench

import (
	"syscall"
	"time"
)

// Clock returns how long the process has been on a processor.
func Clock() time.Duration {
	var u syscall.Rusage
	if syscall.Getrusage(syscall.RUSAGE_SELF, &u) != nil {
		return time.Since(start)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

var start = time.Now()
