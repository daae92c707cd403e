// Starts `assay lsp` and speaks with it; everything else is the server's.
"use strict";
const vscode = require("vscode");
const { LanguageClient } = require("vscode-languageclient/node");

let client;

exports.activate = async (context) => {
  const settings = vscode.workspace.getConfiguration("assay");
  const server = {
    command: settings.get("path"),
    args: ["lsp", ...settings.get("arguments")],
  };
  client = new LanguageClient("assay", "Assay", server, {
    documentSelector: [
      { scheme: "file", language: "jinja" },
      { scheme: "file", pattern: "**/{tokenizer_config,chat_template,processor_config}.json" },
      { scheme: "file", pattern: "**/{assay,pyproject}.toml" },
    ],
  });
  context.subscriptions.push(
    vscode.commands.registerCommand("assay.renderConversation", () => {
      const editor = vscode.window.activeTextEditor;
      if (!editor) return undefined;
      return vscode.commands.executeCommand("assay.render", editor.document.uri.toString());
    }),
  );
  await client.start();
};

exports.deactivate = () => client?.stop();
