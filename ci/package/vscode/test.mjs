// Speaks with `assay lsp` as VS Code does: with the library of its protocol. ASSAY is the command.
import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { createRequire } from "node:module";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { pathToFileURL } from "node:url";

const lsp = createRequire(import.meta.url)("vscode-languageserver-protocol/node");
const folder = mkdtempSync(join(tmpdir(), "assay-"));
const shown = new Map(); // URI -> what to call with the diagnostics that come
let server, connection, abilities;

const uriOf = (name) => pathToFileURL(join(folder, name)).href;

// resolves with the first diagnostics of a document that are as wanted
const diagnostics = (uri, wanted) =>
  new Promise((resolve) => shown.set(uri, (list) => wanted(list) && resolve(list)));

const open = (uri, languageId, text) =>
  connection.sendNotification(lsp.DidOpenTextDocumentNotification.type, {
    textDocument: { uri, languageId, version: 1, text },
  });

before(async () => {
  server = spawn(process.env.ASSAY ?? "assay", ["lsp"], { stdio: ["pipe", "pipe", "inherit"] });
  connection = lsp.createProtocolConnection(
    new lsp.StreamMessageReader(server.stdout),
    new lsp.StreamMessageWriter(server.stdin),
  );
  connection.onNotification(lsp.PublishDiagnosticsNotification.type, (p) =>
    shown.get(p.uri)?.(p.diagnostics),
  );
  connection.onRequest(lsp.ShowDocumentRequest.type, () => ({ success: true }));
  connection.onRequest(lsp.RegistrationRequest.type, () => {});
  connection.listen();
  const answer = await connection.sendRequest(lsp.InitializeRequest.type, {
    processId: process.pid,
    rootUri: pathToFileURL(folder).href,
    capabilities: {
      window: { showDocument: { support: true } },
      workspace: { didChangeWatchedFiles: { dynamicRegistration: true } },
    },
  });
  abilities = answer.capabilities;
  await connection.sendNotification(lsp.InitializedNotification.type, {});
});

after(async () => {
  await connection.sendRequest(lsp.ShutdownRequest.type);
  await connection.sendNotification(lsp.ExitNotification.type);
  const status = await new Promise((resolve) => server.on("exit", resolve));
  rmSync(folder, { recursive: true });
  assert.equal(status, 0);
});

const joins = `{%- for message in messages %}
{{- '<|' + message.role + '|>' + message.content }}
{%- for call in message.tool_calls or [] %}<call>{"name": "{{ call.function.name }}",
 "arguments": {{
  call.function.arguments if call.function.arguments is string else call.function.arguments|tojson
}}}</call>{% endfor %}<|end|>
{%- endfor %}
{%- if tools %}{{ tools|tojson }}{% endif %}
{%- if add_generation_prompt %}{{ '<|assistant|>' }}{% endif %}
`;

test("the abilities are those of the protocol", () => {
  assert.equal(abilities.textDocumentSync.change, lsp.TextDocumentSyncKind.Incremental);
  assert.equal(abilities.positionEncoding, lsp.PositionEncodingKind.UTF16);
  assert.deepEqual(abilities.executeCommandProvider.commands, ["assay.render"]);
});

test("a Jinja file: findings, an edit, a patch, a hover, completion, a prompt", async () => {
  const uri = uriOf("a.jinja");
  const found = diagnostics(uri, (list) => list.some((d) => d.code === "A012"));
  await open(uri, "jinja", joins);
  const finding = (await found).find((d) => d.code === "A012");
  assert.ok(lsp.Diagnostic.is(finding), "it is a diagnostic of the protocol");
  assert.equal(finding.range.start.line, 1);

  const actions = await connection.sendRequest(lsp.CodeActionRequest.type, {
    textDocument: { uri },
    range: finding.range,
    context: { diagnostics: [finding], only: [lsp.CodeActionKind.QuickFix] },
  });
  assert.ok(actions.length > 0 && actions.every((a) => lsp.CodeAction.is(a)));
  assert.ok(lsp.WorkspaceEdit.is(actions[0].edit));
  assert.equal(actions[0].edit.documentChanges[0].textDocument.version, 1);

  const hover = await connection.sendRequest(lsp.HoverRequest.type, {
    textDocument: { uri },
    position: { line: 0, character: 22 }, // messages
  });
  assert.ok(lsp.Hover.is(hover));
  assert.match(hover.contents.value, /`messages`/);

  const list = await connection.sendRequest(lsp.CompletionRequest.type, {
    textDocument: { uri },
    position: { line: 7, character: 11 }, // add_
  });
  assert.ok(list.items.some((item) => item.label === "add_generation_prompt"));
  assert.equal(list.isIncomplete, false);

  const rendered = await connection.sendRequest(lsp.ExecuteCommandRequest.type, {
    command: "assay.render",
    arguments: [uri, { messages: [{ role: "user", content: "Hi" }] }],
  });
  assert.equal(rendered.prompt, "<|user|>Hi<|end|><|assistant|>");

  const broken = diagnostics(uri, (list) => list.some((d) => d.code === "A001"));
  await connection.sendNotification(lsp.DidChangeTextDocumentNotification.type, {
    textDocument: { uri, version: 2 },
    contentChanges: [
      { range: { start: { line: 5, character: 0 }, end: { line: 6, character: 0 } }, text: "" },
    ],
  });
  assert.equal((await broken)[0].severity, lsp.DiagnosticSeverity.Error);
});

test("a tokenizer_config.json: a finding in the string", async () => {
  const uri = uriOf("tokenizer_config.json");
  const found = diagnostics(uri, (list) => list.some((d) => d.code === "A012"));
  await open(uri, "json", JSON.stringify({ bos_token: "🙂", chat_template: joins }));
  const { range } = (await found).find((d) => d.code === "A012");
  assert.equal(range.start.line, 0);
  assert.ok(range.start.character > 40 && range.end.character > range.start.character);
});

test("assay.toml counts, and a wrong setting is shown where it stands", async () => {
  const template = uriOf("b/c.jinja");
  const settings = uriOf("b/assay.toml");
  const silent = diagnostics(template, (list) =>
    list.length > 0 && list.every((d) => d.code !== "A012"),
  );
  await open(settings, "toml", 'ignore = ["A012"]\n');
  await open(template, "jinja", joins);
  await silent;
  const wrong = diagnostics(settings, (list) => list.length > 0);
  await connection.sendNotification(lsp.DidChangeTextDocumentNotification.type, {
    textDocument: { uri: settings, version: 2 },
    contentChanges: [{ text: 'ignore = ["A9999"]\n' }],
  });
  assert.equal((await wrong)[0].range.start.line, 0);
});

test("an unknown request is an error, and the next one is answered", async () => {
  await assert.rejects(connection.sendRequest("assay/unknown", {}), { code: -32601 });
  assert.equal(
    await connection.sendRequest(lsp.HoverRequest.type, {
      textDocument: { uri: uriOf("not-open.jinja") },
      position: { line: 0, character: 0 },
    }),
    null,
  );
});
