package hub

import "net/netip"

// Within has a client take these addresses alone for those of its network.
func (c *Client) Within(inside func(netip.Addr) bool) { c.border.inside = inside }

// Inside is the rule that clients go by.
var Inside = inside
