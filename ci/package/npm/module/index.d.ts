/** A request, a message or a delta in the shape of OpenAI's chat completions. */
export type Json = { [name: string]: any };
export type Delta = Json;
/** Why an output ended. */
export type Reason = "stop" | "length" | "content_filter";
/** A language of grammars. "lazy-gbnf" is llama.cpp's from a trigger on; the others are of whole
 * answers. */
export type Language = "lazy-gbnf" | "gbnf" | "ebnf" | "lark" | "structural-tag";
export type Target =
  | "format"
  | "response-template"
  | "capabilities"
  | "structural-tag"
  | "lark"
  | "ebnf"
  | "gbnf";

/** Loads the engine. It is to be awaited before anything else is used. `source` is the place or the
 * bytes of assay.wasm or assay.wasm.gz, where it does not lie beside this module. */
export function load(source?: URL | string | Uint8Array): Promise<void>;

/** A failure. `kind` is a word of docs/reference/protocol.md, or "finished"; `offset` counts bytes
 * from 0, `line` and `column` from 1. */
export class AssayError extends Error {
  kind: string;
  offset?: number;
  line?: number;
  column?: number;
}

/** The tokens of a tokeniser: the texts of tokenizer.json and of the two files beside it. */
export class Vocabulary {
  constructor(tokenizer: string, tokenizerConfig?: string, generationConfig?: string);
}

export interface PrepareOptions {
  /** Spellings of calls, by name, that are read besides the template's own. */
  fallbacks?: string[];
  /** Take a template whose spelling of calls is not proven. */
  insist?: boolean;
  tolerances?: { [name: string]: boolean };
  /** What becomes of a call that breaks off. */
  incomplete?: "keep" | "drop" | "text";
  /** The text after the header of the answer, of a prompt that somebody else has rendered. */
  prefill?: string;
}

export interface Check {
  /** Whether no finding is an error. */
  ok: boolean;
  /** The worst first. */
  findings: Json[];
  passed: number;
  toolCapable: boolean;
}

export interface Fix {
  ok: boolean;
  patches: { kind: string; rules: string[]; diff: string }[];
  /** The faults and errors that are left. */
  left: Json[];
}

/** A chat template. Without `bos` and `eos` stand-ins are used: give them where the template writes
 * them. */
export class Template {
  constructor(
    text: string,
    options?: { name?: string; bos?: string; eos?: string; vocabulary?: Vocabulary },
  );
  readonly text: string;
  readonly name: string;
  prepare(request: Json, options?: PrepareOptions): Plan;
  /** Reads a whole output. */
  parse(output: string | Uint8Array, request: Json, reason?: Reason): Answer;
  check(options?: { only?: string[]; untrusted?: boolean }): Check;
  fix(): Fix;
  /** Writes the format, or the grammar of the answers to a request, for another engine. */
  emit(target: Target, request?: Json): string;
  /** The output format (docs/reference/format.md). */
  format(): Json;
}

/** A request that is ready for a model. `Template.prepare` makes one. */
export class Plan {
  private constructor();
  readonly prompt: string;
  /** The start of the model's own text, at the prompt's end. */
  readonly prefill: string;
  /** Texts that end the turn. */
  readonly stops: string[];
  /** Texts that a tokeniser must not cut, and must give back as text. */
  readonly preserved: string[];
  readonly lazy: boolean;
  readonly triggers: { text: string; pattern: boolean; call: boolean }[];
  /** How the request was changed to suit the template. */
  readonly fitted: string[];
  parser(): Parser;
  grammar(language?: Language): string;
  /** Whose text each part of the prompt is, in bytes. */
  segments(): { offset: number; size: number; own: boolean; path?: string; role?: string; turn?: number }[];
}

/** Reads one output as it streams. */
export class Parser {
  private constructor();
  readonly plan: Plan;
  /** Bytes that were read and are in no delta yet. */
  readonly held: number;
  /** What `close` returned. */
  readonly answer?: Answer;
  /** Reads more of the output and returns what it adds to the message. Bytes may end inside a
   * character; deltas never do. */
  write(piece: string | Uint8Array): Delta[];
  /** Reads more of the output as tokens of the template's vocabulary. */
  writeTokens(ids: Iterable<number>): Delta[];
  close(reason?: Reason): Answer;
  /** A stream of pieces, or of arrays of ids, to deltas. Its end closes the parser. */
  stream(reason?: Reason): TransformStream<string | Uint8Array | number[], Delta>;
}

export interface Answer {
  message: Json;
  finishReason: string;
  /** Of each call whether it is complete. */
  complete: boolean[];
  diagnostics: { at: number; kind: string; message: string; text?: string }[];
  /** The deltas that the end of the output added. */
  deltas: Delta[];
  content: string;
  toolCalls: Json[];
}
