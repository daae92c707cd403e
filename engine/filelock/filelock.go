// Package filelock keeps two programs from writing one file at a time.
//
// # Model
//
// [Try] takes the lock that flock gives, the one of the huggingface_hub library on the same systems. It is advice: who does not ask
// does not see it. Where the system has no flock it does nothing, and what is written has to be compared afterwards, as its users do.
package filelock
