//go:build unix && !solaris && !aix

package filelock

import (
	"os"
	"syscall"
)

// Try locks an open file for this process, unless another one has it. The lock goes with the
// process, or when the file is closed.
func Try(f *os.File) (bool, error) {
	for {
		switch err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); err {
		case nil:
			return true, nil
		case syscall.EWOULDBLOCK:
			return false, nil
		case syscall.EINTR:
		default:
			return false, err
		}
	}
}
