/** Writes the files of a new backend, by path from the project's root: the backend, its test, its config. */
export function backendFiles(name: string, { vitest }: { readonly vitest: boolean }): Readonly<Record<string, string>> {
  return {
    [`backends/${name}.ts`]: backendSource(name),
    [`backends/${name}.test.ts`]: testSource(name, vitest ? "vitest" : "node:test"),
    [`configs/${name}.json`]: configSource(name),
  };
}

function toClassName(name: string): string {
  return name
    .split(/[-_]/)
    .map((word) => word.charAt(0).toUpperCase() + word.slice(1))
    .join("");
}

function backendSource(name: string): string {
  const className = toClassName(name);
  return `import { Backend, type Input, type Session, tool, type ToolContext } from "toolyard";
import { z } from "zod";

const Add = z.strictObject({ text: z.string().min(1).describe("What to keep.") });

/** What one worker's session holds. */
interface ${className}Data {
  readonly notes: string[];
}

export default class ${className} extends Backend<${className}Data> {
  readonly resource = "${name}";
  override readonly description = "Keeps notes for the length of a session.";

  /** Runs once per session; a backend without it has no sessions. */
  override async initialize(): Promise<${className}Data> {
    return { notes: [] };
  }

  /** Runs once per session, also after an initialize that failed: then the data is undefined. */
  override async cleanup(session: Session<${className}Data | undefined>): Promise<void> {
    session.data?.notes.splice(0);
  }

  @tool({ description: "Keep a note.", params: Add })
  async add({ text }: Input<typeof Add>, { session }: ToolContext<${className}Data>) {
    session.data.notes.push(text);
    return { count: session.data.notes.length };
  }

  @tool({ description: "List the notes of this session.", annotations: { readOnlyHint: true } })
  async list(_: unknown, { session }: ToolContext<${className}Data>) {
    return { notes: session.data.notes };
  }
}
`;
}

function testSource(name: string, runner: string): string {
  return `import assert from "node:assert/strict";
import { fileURLToPath } from "node:url";
import { Sandbox } from "toolyard";
import { test } from "${runner}";

const configPath = fileURLToPath(new URL("../configs/${name}.json", import.meta.url));

// A server starts for it, which takes a busy machine longer than the few seconds that test runners give.
test("${name} keeps what it is told for the length of a session", { timeout: 60_000 }, async () => {
  const sandbox = await Sandbox.open({ configPath });
  try {
    await sandbox.createSession("${name}");
    await sandbox.call("${name}:add", { text: "hello" });
    const result = await sandbox.call("${name}:list");
    assert.deepEqual(result.ok && result.data, { notes: ["hello"] });
  } finally {
    await sandbox.close();
  }
});
`;
}

function configSource(name: string): string {
  return `{
  "resources": {
    "${name}": { "backend": "../backends/${name}.ts" }
  }
}
`;
}
