package main

import (
	"os"
	"syscall"
)

// resident returns the most memory that a process had in use, in bytes.
func resident(p *os.ProcessState) int64 { return p.SysUsage().(*syscall.Rusage).Maxrss << 10 }
