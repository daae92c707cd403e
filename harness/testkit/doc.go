// Package testkit is for tests alone: nothing of the product imports it.
//
// # Contents
//
// The packages below double have servers and generators that tests put in place of real ones,
// right or wrong at will. Those below measure are programs that measure the product. Package
// command builds the command for tests that run it, package share draws the cases of large tests,
// and package hostile attacks the product.
//
// # Stability
//
// This package may change with every release; package engine lists the stable ones.
package testkit
