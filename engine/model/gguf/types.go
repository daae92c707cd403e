package gguf

import (
	"encoding/binary"
	"fmt"
)

// ByteOrder is [binary.LittleEndian] or [binary.BigEndian].
type ByteOrder interface {
	binary.ByteOrder
	binary.AppendByteOrder
}

// Type is the type of a value.
type Type uint32

// The types of values, with the numbers that stand for them in a file.
const (
	Uint8 Type = iota
	Int8
	Uint16
	Int16
	Uint32
	Int32
	Float32
	Bool
	String
	ArrayType
	Uint64
	Int64
	Float64
)

// types has the name of each type, and how many bytes a value takes: 0 where that differs.
var types = [...]struct {
	name string
	size uint64
}{
	Uint8: {"uint8", 1}, Int8: {"int8", 1}, Uint16: {"uint16", 2}, Int16: {"int16", 2},
	Uint32: {"uint32", 4}, Int32: {"int32", 4},
	Float32: {"float32", 4}, Bool: {"bool", 1}, String: {"string", 0}, ArrayType: {"array", 0},
	Uint64: {"uint64", 8},
	Int64:  {"int64", 8}, Float64: {"float64", 8},
}

func (t Type) String() string {
	if int(t) < len(types) {
		return types[t].name
	}
	return fmt.Sprintf("type %d", uint32(t))
}

// least is the fewest bytes that a value takes: a text has a length, an array a type and a length.
func (t Type) least() uint64 {
	switch t {
	case String:
		return 8
	case ArrayType:
		return 12
	}
	return types[t].size
}

// TensorType is how a tensor's elements are stored.
type TensorType uint32

// The types of tensors that are needed to write one; [TensorType.String] knows all.
const (
	F32  TensorType = 0
	F16  TensorType = 1
	Q4_0 TensorType = 2
	Q8_0 TensorType = 8
	BF16 TensorType = 30
)

// layout describes how elements are packed: blocks of so many elements, each of so many bytes.
type layout struct {
	name         string
	block, bytes uint64
}

// layouts follows enum ggml_type and the table of block sizes in gguf-py's documentation.
var layouts = map[TensorType]layout{
	F32: {"F32", 1, 4}, F16: {"F16", 1, 2}, Q4_0: {"Q4_0", 32, 18}, 3: {"Q4_1", 32, 20},
	6: {"Q5_0", 32, 22}, 7: {"Q5_1", 32, 24},
	Q8_0: {"Q8_0", 32, 34}, 9: {"Q8_1", 32, 36}, 10: {"Q2_K", 256, 84}, 11: {"Q3_K", 256, 110},
	12: {"Q4_K", 256, 144},
	13: {"Q5_K", 256, 176}, 14: {"Q6_K", 256, 210}, 15: {"Q8_K", 256, 292},
	16: {"IQ2_XXS", 256, 66}, 17: {"IQ2_XS", 256, 74},
	18: {"IQ3_XXS", 256, 98}, 19: {"IQ1_S", 256, 50}, 20: {"IQ4_NL", 32, 18},
	21: {"IQ3_S", 256, 110}, 22: {"IQ2_S", 256, 82},
	23: {"IQ4_XS", 256, 136}, 24: {"I8", 1, 1}, 25: {"I16", 1, 2}, 26: {"I32", 1, 4},
	27: {"I64", 1, 8}, 28: {"F64", 1, 8},
	29: {"IQ1_M", 256, 56}, BF16: {"BF16", 1, 2}, 34: {"TQ1_0", 256, 54}, 35: {"TQ2_0", 256, 66},
	39: {"MXFP4", 32, 17},
	40: {"NVFP4", 64, 36}, 41: {"Q1_0", 128, 18}, 42: {"Q2_0", 64, 18},
}

func (t TensorType) String() string {
	if l, ok := layouts[t]; ok {
		return l.name
	}
	return fmt.Sprintf("type %d", uint32(t))
}

// guessed is the bit that marks a file type as a guess.
const guessed = 1024

// fileTypes follows enum llama_ftype: which types the tensors of a file mostly have.
var fileTypes = map[uint64]string{
	0: "F32", 1: "F16", 2: "Q4_0", 3: "Q4_1", 7: "Q8_0", 8: "Q5_0", 9: "Q5_1", 10: "Q2_K",
	11: "Q3_K_S", 12: "Q3_K_M", 13: "Q3_K_L",
	14: "Q4_K_S", 15: "Q4_K_M", 16: "Q5_K_S", 17: "Q5_K_M", 18: "Q6_K", 19: "IQ2_XXS", 20: "IQ2_XS",
	21: "Q2_K_S", 22: "IQ3_XS",
	23: "IQ3_XXS", 24: "IQ1_S", 25: "IQ4_NL", 26: "IQ3_S", 27: "IQ3_M", 28: "IQ2_S", 29: "IQ2_M",
	30: "IQ4_XS", 31: "IQ1_M",
	32: "BF16", 36: "TQ1_0", 37: "TQ2_0", 38: "MXFP4_MOE", 39: "NVFP4", 40: "Q1_0", 41: "Q2_0",
}
