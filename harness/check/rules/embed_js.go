package rules

import "embed"

// Files is empty: the page is loaded over the network, and shows no examples.
var Files embed.FS
