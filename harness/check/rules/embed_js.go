package rules

import "embed"

// stored is empty: the page is loaded over the network, and shows no examples.
var stored embed.FS
