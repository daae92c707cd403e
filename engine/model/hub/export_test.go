package hub

import (
	"net/http"
	"net/netip"
	"net/url"
)

// Within has a client take these addresses alone for those of its network.
func (c *Client) Within(inside func(netip.Addr) bool) { c.border.inside = inside }

// By has a client send its requests through proxies.
func (c *Client) By(proxy func(*http.Request) (*url.URL, error)) { c.border.proxy = proxy }

// Inside is the rule that clients go by.
var Inside = inside
