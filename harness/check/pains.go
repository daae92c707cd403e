package check

import "slices"

// Pain is a kind of fault as public trackers have it, and the rules that catch it in a template.
type Pain struct {
	ID    string // "P13"
	What  string
	Seen  string   // issues, as OWNER/REPOSITORY#NUMBER
	Rules []string // those of this package, and of `assay diff` (D...)
}

// Pains returns the faults that rules are there for.
func Pains() []Pain { return slices.Clone(pains) }

var pains = []Pain{
	{"P13", "the prompt opened reasoning, the parser waited for the tag in the output, and reasoning was lost",
		"ggml-org/llama.cpp#12275, hiyouga/LLaMA-Factory#8219, Blaizzy/mlx-vlm#1161", []string{"A019", "A022", "A034"}},
	{"P15", "a model that does not think was taken for one that does",
		"ggml-org/llama.cpp#20325, ggml-org/llama.cpp#18675", []string{"A034"}},
	{"P19", "the history was full of empty thinking blocks",
		"ggml-org/llama.cpp#22507, QwenLM/Qwen3.8#131", []string{"A021"}},
	{"P20", "reasoning was taken out of the history, so that every turn processed the whole prompt again",
		"QwenLM/Qwen3#1826, QwenLM/Qwen3.8#48, ggml-org/llama.cpp#22746", []string{"A019", "A020"}},
	{"P22", "arguments were typed by guess: \"02134\" came back as 2134",
		"lablup/mlxcel#1336, smg-project/smg#1761", []string{"A003", "A025"}},
	{"P23", "null, \"none\" and nullable arguments were taken for each other",
		"vllm-project/vllm#39599, vllm-project/vllm#46827, sgl-project/sglang#35914", []string{"A003", "A041"}},
	{"P24", "digits of numbers were lost",
		"ai-dynamo/frontend-crates#339", []string{"A024"}},
	{"P25", "an argument that contained the closing marker was cut off there",
		"raullenchai/Rapid-MLX#1515, raullenchai/Rapid-MLX#1542, vllm-project/vllm#44060", []string{"A011"}},
	{"P26", "of several calls only one arrived",
		"ggml-org/llama.cpp#14101, can1357/oh-my-pi#1970", []string{"A003", "A026"}},
	{"P28", "ids of calls were refused, or never reached the model",
		"ml-explore/mlx-lm#1375, ml-explore/mlx-lm#821", []string{"A027", "A033"}},
	{"P32", "the order of arguments changed between the answer and the history",
		"unslothai/unsloth#10791, ai-dynamo/dynamo#10624", []string{"A023"}},
	{"P36", "the grammar allowed what the parser did not read, or the other way round",
		"ggml-org/llama.cpp#24807, ggml-org/llama.cpp#29240", []string{"A006", "A007"}},
	{"P38", "a template ran in one engine and failed in another",
		"google/minja#82, sgl-project/sglang#13722, ikawrakow/ik_llama.cpp#1203, lmstudio-ai/lmstudio-bug-tracker#1342", []string{"A001", "A002", "A009", "A010"}},
	{"P39", "JSON was written with HTML escapes or sorted keys",
		"abetlen/llama-cpp-python#1486, nobodywho-ooo/nobodywho#519", []string{"A023", "A029"}},
	{"P40", "arguments came as a string where an object was expected, or the other way round",
		"QwenLM/Qwen3-Coder#444, QwenLM/Qwen3#1894", []string{"A018", "A036"}},
	{"P41", "content that was null was printed as None",
		"vllm-project/vllm#54337, Blaizzy/mlx-vlm#1864", []string{"A012", "A040"}},
	{"P42", "system messages and results of tools were dropped or refused",
		"vllm-project/vllm#39614, ggml-org/llama.cpp#20733, ggml-org/llama.cpp#27367", []string{"A013", "A014", "A015", "A016", "A030", "A033"}},
	{"P43", "prompts began with two BOS tokens",
		"abetlen/llama-cpp-python#1501, ggml-org/llama.cpp#15086, unslothai/unsloth#10682", []string{"A017"}},
	{"P44", "white space drifted between templates that were meant to be equal, and answers changed",
		"vllm-project/vllm#20717, ggml-org/llama.cpp#24644", []string{"A031", "D005", "D008"}},
	{"P46", "servers disagreed on which of several templates counts",
		"huggingface/text-generation-inference#3247, ikawrakow/ik_llama.cpp#668", []string{"A032"}},
}
