//go:build !unix

package bench

import "time"

// Clock returns how long the process has been running: the system does not tell how long on a
// processor.
func Clock() time.Duration { return time.Since(start) }

var start = time.Now()
