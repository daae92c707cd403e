// Package clients has the requests that agents and libraries send, in the form in which a template
// sees them.
//
// # Data
//
// Each client is a JSON file: its package and version, and requests that the package itself sent to
// a server on loopback, in the order of a session. Roles, the forms of content, ids, arguments, the
// schemas of tools and the calls are as they were sent; instructions, descriptions and long texts
// are in our words. Of many tools those are kept that have something of their own in their schemas.
//
// The Responses and Messages protocols are translated into chat completions as servers do: items
// and blocks that follow each other become one message, input schemas become parameters, and tools
// that are no functions are left out. ci/clients records and translates.
//
// # Errors
//
// There are none: the files are part of the program.
//
// # Stability
//
// This package may change with every release; package engine lists the stable ones.
package clients

import (
	"embed"
	"fmt"
	"slices"
	"strconv"
	"sync"

	"github.com/goassay/assay/engine/chat"
	"github.com/goassay/assay/engine/lists"
	"github.com/goassay/assay/engine/ordered"
	"github.com/goassay/assay/harness/conversation"
)

// Client is a program that sends requests.
type Client struct {
	Name     string // "claude-code"
	Package  string // where it comes from: "npm cline"
	Version  string // that sent the requests
	Protocol string // that it speaks: "chat completions", "responses", "messages"
	Requests []Request
}

// String returns the name with the version.
func (c Client) String() string { return c.Name + " " + c.Version }

// Request is a request of a client, named by its messages.
type Request struct {
	Name string
	chat.Request
}

//go:embed *.json
var files embed.FS

// All returns the clients in the order of their names.
var All = sync.OnceValue(func() []Client {
	entries, err := files.ReadDir(".")
	if err != nil {
		panic("clients: " + err.Error())
	}
	all := make([]Client, len(entries))
	for i, e := range entries {
		text, err := files.ReadFile(e.Name())
		if err == nil {
			all[i], err = read(string(text))
		}
		if err != nil {
			panic("clients: " + e.Name() + ": " + err.Error())
		}
	}
	return all
})

// Names returns the names of the clients.
func Names() []string {
	return lists.Map(All(), func(c Client) string { return c.Name })
}

// Named returns the client of a name.
func Named(name string) (Client, bool) {
	i := slices.IndexFunc(All(), func(c Client) bool { return c.Name == name })
	if i < 0 {
		return Client{}, false
	}
	return All()[i], true
}

// read reads a client's file.
func read(text string) (Client, error) {
	v, err := ordered.ParseString(text)
	if err != nil {
		return Client{}, err
	}
	c := Client{Name: v.At("client").Text(), Package: v.At("package").Text(),
		Version: v.At("version").Text(), Protocol: v.At("protocol").Text()}
	sets := v.At("tools").Items()
	for i, q := range v.At("requests").Items() {
		r := Request{Request: chat.Request{Messages: q.At("messages").Items()}}
		if which, ok := q.Get("tools"); ok {
			n, err := strconv.Atoi(which.Text())
			if err != nil || n < 0 || n >= len(sets) {
				return c, fmt.Errorf("request %d: there are no tools %s", i+1, which)
			}
			for _, t := range sets[n].Items() {
				tool, err := chat.ParseTool(t)
				if err != nil {
					return c, fmt.Errorf("request %d: tools%w", i+1, err)
				}
				r.Tools = append(r.Tools, tool)
			}
		}
		r.Name = conversation.Told(r.Request)
		c.Requests = append(c.Requests, r)
	}
	return c, nil
}
