// Package serve is a server of chat completions, Responses and Messages for one chat template. The
// prompt, the grammar, the parsing and the protocols are this project's; a [Backend] runs the
// model.
//
// # Life of a request
//
//	key -> body -> wire.Decode -> queue -> engine.Prepare -> Backend.Generate
//	                                                              | pieces of text
//	          client <- wire.Writer <- stops <- engine.Parser <---+
//
// Nothing of a request outlives it. An answer in one piece is a stream that is put together, so the
// two cannot differ.
//
// # Stops
//
// The texts of a request's stop end the answer where they come in its content; not in reasoning,
// and not in a call. They are looked for here and not by the back end, which sees markers and
// content alike.
//
// # Limits
//
// [Limits] bound the connections, the header, the body, the time to read it, the requests that
// run at once and those that wait, the time of an answer, the time in which a client takes
// nothing, and the text of an answer. A client that goes away ends its request in the back end
// as well.
//
// # Memory
//
// A request takes memory until it is answered, up to a hundred times the length of its body
// where that has many small values. Limits.Memory bounds the memory of all requests together,
// and every request is charged for the most that its bytes may come to: body, values, prompt,
// the parser and the grammar of its tools, and the text of its answer. One half is for requests
// as long as they are not answered. They are charged as they come, so a client that announces a
// long body and sends none takes nothing from the others; a request for which no room is left is
// refused at once, since requests that wait with half a body each could keep each other from
// going on. The other half is for decoding requests and making prompts and parsers, which takes
// more for a short time: requests wait for it, and one that needs more than all of it is refused
// for good.
//
// # Errors
//
// A refusal has the shape of the protocol whose path was asked. Where an answer has begun to
// stream, it ends with the protocol's error event.
//
// # The log
//
// A line for each request: protocol, status, tokens, times. No text of a request or an answer,
// unless [Options.LogText] says so.
//
// # Silence
//
// While a model reads a long prompt nothing comes. Clients and proxies that would give up hear of
// it by events that mean nothing: comments, and ping in Messages.
//
// # Packages below
//
// upstream and local are the back ends: another server, and a model file by llama.cpp. pipe
// answers another program, and openai speaks to a server. live puts a server or a model through a
// battery of requests, provider asks a provider of a model thousands.
//
// # Stability
//
// This package may change with every release; package engine lists the stable ones.
package serve
