#!/usr/bin/env node
// This file must also run on a Node that is too old for the rest, so it imports nothing before it has looked.
const [major = 0, minor = 0] = process.versions.node.split(".").map(Number);

if (major < 22 || (major === 22 && minor < 12)) {
  console.error(
    `toolyard: needs Node 22.12 or newer, and this is ${process.versions.node}; get one with "npm install --save-dev node@24" and run "npx toolyard", or from https://nodejs.org`,
  );
  process.exitCode = 1;
} else {
  void start();
}

async function start(): Promise<void> {
  const [{ enableCompileCache }, { fileURLToPath }] = await Promise.all([import("node:module"), import("node:url")]);
  // With the package itself: who may write there may change its code as well. Where nobody may, there is no cache.
  enableCompileCache(fileURLToPath(new URL("../node_modules/.cache/toolyard", import.meta.url)));
  const { run } = await import("./cli/run.ts");
  await run(process.argv.slice(2));
}
