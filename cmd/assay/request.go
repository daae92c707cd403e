package main

import (
	"fmt"
	"slices"
	"strings"

	"github.com/goassay/assay/engine"
	"github.com/goassay/assay/engine/chat"
	"github.com/goassay/assay/engine/ordered"
	"github.com/goassay/assay/harness/report"
	"github.com/goassay/assay/harness/report/spelling"
)

// readFields are the fields of a request that [chat.ParseRequest] reads.
var readFields = []string{"messages", "tools", "tool_choice", "parallel_tool_calls",
	"reasoning_format", "enable_thinking", "add_generation_prompt",
	"continue_final_message", "json_schema", "response_format", "chat_template_kwargs"}

// otherFields are further fields that clients send and that do not concern a template: those of
// OpenAI's API reference for /v1/chat/completions, and the samplers of llama.cpp's and vLLM's
// servers.
var otherFields = []string{"model", "audio", "frequency_penalty", "logit_bias", "logprobs",
	"max_completion_tokens", "max_tokens", "metadata",
	"modalities", "n", "prediction", "presence_penalty", "prompt_cache_key", "safety_identifier",
	"seed", "service_tier", "stop", "store", "stream",
	"stream_options", "temperature", "top_logprobs", "top_p", "user", "verbosity",
	"web_search_options",
	"cache_prompt", "id_slot", "min_p", "n_predict", "repeat_penalty", "repetition_penalty",
	"samplers", "stop_token_ids", "timings_per_token", "top_k",
	"typical_p"}

// warnFields names the fields of a request that nobody reads.
func (c *call) warnFields(request ordered.Value) {
	for _, m := range request.Members() {
		if !slices.Contains(readFields, m.Key) && !slices.Contains(otherFields, m.Key) {
			c.warn("the request's field %q is not read%s", m.Key, spelling.Meant(m.Key, readFields))
		}
	}
}

// warnMessages names the messages of a request that leave no trace in the prompt: nothing is
// written of them, and without them the prompt is the same.
func (c *call) warnMessages(t *engine.Template, r chat.Request) {
	in := t.Caps().Fit(r).Input
	written, err := t.ChatTemplate().Observe(in)
	if err != nil || r.Continue != chat.ContinueNone {
		return
	}
	reached := map[string]bool{} // "messages[0"
	for _, run := range written.Runs {
		message, _, _ := strings.Cut(run.Origin.Path, "]")
		reached[message] = true
	}
	for i, m := range in.Messages {
		if reached[fmt.Sprintf("messages[%d", i)] ||
			m.At("content").IsNull() && m.At("tool_calls").IsNull() {
			continue
		}
		without := in
		without.Messages = slices.Delete(slices.Clone(in.Messages), i, i+1)
		if text, err := t.ChatTemplate().Render(without); err == nil && text == written.String {
			c.warn("nothing of a message with the role %q "+
				"reaches the prompt: %s", m.At("role").
				Text(), report.Quote(m.At("content").Text(), 0))
		}
	}
}
