// Package script runs the corpus: cases that are testscript scripts in txtar archives.
//
// # A case
//
// Most cases are made of a kind, which has the script, and of a family's outputs
// (corpus/README.md). A script in a family's folder is one that the family alone has.
//
// A case tells one story. Its first lines, comments, tell the subject and the reason; its name
// starts with the category. Then come commands, then the files that they use:
//
//	# one call after some content, typed arguments
//	template qwen3-coder
//	request request.json
//	caps tools tool_calls parallel
//	prompt prompt.golden
//	parse output.txt message.json
//	stream output.txt message.json
//	accept output.txt
//	roundtrip message.json
//	-- request.json --
//	{"messages": [...], "tools": [...]}
//	...
//
// # Commands
//
//	template NAME          the template: a family of the corpus, or a file that ends in .jinja
//	request FILE           the request, OpenAI's JSON
//	fallback NAME...       fallback spellings to allow from here on
//	caps NAME...           the template has these capabilities ("! caps ..." has none of them); names without "supports_",
//	                       shortened as far as they stay unique
//	gate                   the gate lets the template pass ("! gate" rejects it)
//	prompt FILE            the prompt is the text of the file
//	parse OUTPUT FILE      the output, parsed in one go, is the message of the file; -cut: the output was cut off
//	stream OUTPUT FILE     the same in every split, and the deltas keep to the protocol; -cut likewise
//	finish REASON          the finish_reason of the parse before
//	accept OUTPUT          the grammar takes the part of the output that it constrains ("! accept" does not)
//	roundtrip FILE         the message, rendered as the last of the conversation and cut out, is parsed as itself
//
// and of testscript's own skip and stop. The only condition is [vendor], a run of a vendor's
// template. `assay run` may be pointed at a corpus from a stranger, so a script that uses another
// command or condition, a variable, or a file outside its folder fails without being run.
//
// A file of text counts without the line feed at its end, which a txtar archive always has; an
// output that ends in one has an empty line there. A message has content, reasoning_content and
// tool_calls[]{name, arguments, id}, an absent one being empty; OpenAI's nested form does as well.
// Texts compare to the byte. Arguments compare as JSON with the order of keys and the digits of
// numbers, whatever the white space between; arguments that are cut off compare as text.
//
// # Variants
//
// A case runs with its family's own template and, where the vendors' templates are at hand, once
// more with each of them: same caps, same parses. The commands prompt and roundtrip are about one
// template's text, and only run with the own one.
//
// # Updating
//
// With [Suite].Update, a command's findings are written into the script in the place of the
// expectation (prompt, parse).
//
// # Errors
//
// A command that does not hold fails with the script's line, a unified diff and, for splits, the
// cut that shows the fault. An unknown command or condition: the script fails, and no line of it is
// run. A missing file, JSON that does not read: the script fails at that line, and nothing is
// written.
//
// # Stability
//
// This package may change with every release; package engine lists the stable ones.
package script
