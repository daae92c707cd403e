// Package conversation makes conversations from a grammar, as many as a template needs to show
// everything that it does.
//
// # Model
//
// A [Grammar] derives the conversations that clients really send: instructions or none, questions,
// answers with reasoning, loops of calls and their results, in all the forms that content,
// arguments, tools and switches come in. It keeps the smallest derivations that have every feature:
// every form, and every kind of message before every other that may follow it. Its words are drawn
// from a seed and look like people's texts; the same seed gives the same bytes. Each leaf of a
// conversation, a string that a client would expect in the prompt, has words of its own
// ([Conversation.Leaves]).
//
// # Exploring
//
// [Explore] renders them with a template, and measures which branches of the template they take,
// and which texts it writes that it chooses as values ([jinja.Coverage]). It keeps those that reach
// something new. Then it searches. The template's tree shows the shape of the request that it asks
// for: which fields it looks up, of which kinds it tests for, with which literals it compares;
// conversations are drawn in which many fields have values of that shape at once. Each outcome that
// is still unreached is looked for on its own, guided by the trace (E4): the fields that its
// condition read, and those that the variables in it were made of, get the literals that they are
// compared with and values of every kind; a change after which the condition reads other fields is
// gone on from. A conversation that only such changes reach is marked [Conversation.Beyond],
// because no client needs to send it: it counts for the coverage, and no demand is made on it. Of
// branches that are proven to be out of any request's reach (engine/jinja/flow/reach) the reason
// is named instead.
//
// # Errors
//
// There are none. A template that refuses a conversation is an observation.
//
// # Packages below
//
// standard has the requests that stand for all others, clients those that agents and libraries
// send, turns those that a template itself writes. reach proves that no request reaches an outcome
// of a template.
//
// # Stability
//
// This package may change with every release; package engine lists the stable ones.
package conversation
