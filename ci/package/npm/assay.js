#!/usr/bin/env node
// Runs the binary of the package for this platform, which npm installed beside this one.
"use strict";
const { spawnSync } = require("node:child_process");

const platform = `${process.platform}-${process.arch}`;
let binary;
try {
  binary = require.resolve(
    `assay-chat-${platform}/assay${process.platform === "win32" ? ".exe" : ""}`,
  );
} catch {
  console.error(
    `assay: there is no package assay-chat-${platform} here. Where it was left out (npm's --omit=optional),` +
      " install assay-chat again without that; otherwise `go install github.com/goassay/assay/cmd/assay@latest` builds the command.",
  );
  process.exit(2);
}
const ended = spawnSync(binary, process.argv.slice(2), { stdio: "inherit" });
if (ended.error) {
  console.error(`assay: ${binary}: ${ended.error.message}`);
  process.exit(2);
}
process.exit(ended.signal ? 130 : ended.status);
