// The facade: no server to start, no url to know. Run it with `npx node examples/facade.ts`.
import { Sandbox, ToolyardError } from "toolyard";

await using sandbox = await Sandbox.open();

// Without a session of its own, a call runs in a temporary one.
const squares = await sandbox.execute("code:run", { language: "javascript", code: "[1, 2, 3].map((x) => x * x)" });
console.log("squares:", squares.result);

// With one, state lasts from call to call.
await sandbox.createSession("code");
await sandbox.execute("code:run", { language: "javascript", code: "let total = 0; const add = (n) => (total += n);" });
const total = await sandbox.execute("code:run", { language: "javascript", code: "add(40); add(2)" });
console.log("total:", total.result);

// What code raises is a value; what the tool could not do is a typed error.
const failed = await sandbox.execute("code:run", { language: "javascript", code: "undefinedName" });
console.log("the code's own error:", failed.error?.name, "-", failed.error?.message);
try {
  await sandbox.execute("code:run", { language: "javascript", code: "for (;;) {}" }, { timeoutMs: 500 });
} catch (error) {
  if (!ToolyardError.is(error)) throw error;
  console.log("the tool's error:", error.error, "-", error.message);
}
