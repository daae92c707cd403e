//go:build unix && !solaris && !aix

package hub

import (
	"os"
	"syscall"
)

// tryLock locks a file for this process, unless another one has it: the lock of the huggingface_hub library on these systems. It goes
// with the process.
func tryLock(f *os.File) (bool, error) {
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
