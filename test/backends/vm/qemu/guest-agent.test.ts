import { duplexPair } from "node:stream";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { GuestAgent } from "../../../../src/backends/vm/qemu/guest-agent.ts";
import { GuestCommands } from "../../../../src/backends/vm/qemu/guest-commands.ts";
import { parseStats } from "../../../../src/backends/vm/qemu/guest-files.ts";
import { JsonLines, type JsonMessage, toLine } from "../../../../src/backends/vm/qemu/json-lines.ts";

const { signal } = new AbortController();
const DELIMITER = Buffer.from([0xff]);

/** An agent that answers as it is told, and is in step with whoever asks it to be. */
function scriptedAgent(answer: (command: string, args: JsonMessage) => JsonMessage | undefined) {
  const [ours, theirs] = duplexPair();
  const lines = new JsonLines(1_000_000);
  const heard: JsonMessage[] = [];
  theirs.on("data", (chunk: Buffer) => {
    for (const { execute, arguments: given } of lines.push(chunk)) {
      const args: JsonMessage = { ...(given as object) };
      if (execute === "guest-sync-delimited") {
        theirs.write(toLine({ error: { class: "GenericError", desc: "JSON parse error, stray" } }));
        theirs.write(Buffer.concat([DELIMITER, toLine({ return: args["id"] })]));
        continue;
      }
      heard.push({ execute, ...args });
      const said = answer(String(execute), args);
      if (said !== undefined) theirs.write(toLine(said));
    }
  });
  return { agent: new GuestAgent(ours), theirs, heard };
}

describe("a client of the guest agent", () => {
  it("has one command out at a time, and tells the agent's refusals", async () => {
    const { agent, heard } = scriptedAgent((command) =>
      command === "bad" ? { error: { class: "GenericError", desc: "cannot" } } : { return: heard.length },
    );
    const all = [agent.execute("a", {}, signal), agent.execute("bad", {}, signal), agent.execute("c", {}, signal)];
    expect(
      (await Promise.allSettled(all)).map((it) => (it.status === "fulfilled" ? it.value : it.reason.message)),
    ).toEqual([1, "bad: cannot", 3]);
  });

  it("takes no answer that was given up for one to what comes next", async () => {
    const { agent, theirs, heard } = scriptedAgent((command) => (command === "slow" ? undefined : { return: "new" }));
    const caller = new AbortController();
    await agent.ready(signal);
    const given = agent.execute("slow", {}, caller.signal);
    await expect.poll(() => heard).toHaveLength(2);
    caller.abort(new Error("gone"));
    await expect(given).rejects.toThrow("gone");
    theirs.write(toLine({ return: "old" }));
    expect(await agent.execute("quick", {}, signal)).toBe("new");
  });

  it("agrees anew on where it is after a snapshot, past the half of a message", async () => {
    const { agent, theirs } = scriptedAgent(() => ({ return: "new" }));
    await agent.ready(signal);
    agent.lostStep();
    theirs.write('{"return": "ol');
    expect(await agent.execute("x", {}, signal)).toBe("new");
  });

  it("ends with its machine, and at what is no message", async () => {
    const { agent, theirs, heard } = scriptedAgent(() => undefined);
    const waiting = agent.execute("x", {}, signal);
    await expect.poll(() => heard).toHaveLength(1);
    theirs.end();
    await expect(waiting).rejects.toMatchObject({ error: "sandbox_dead" });
    const hostile = scriptedAgent(() => undefined);
    const asked = hostile.agent.execute("x", {}, signal);
    await expect.poll(() => hostile.heard).toHaveLength(1);
    hostile.theirs.write("rubbish\n");
    await expect(asked).rejects.toMatchObject({ error: "sandbox_dead" });
  });
});

describe("commands by the guest agent", () => {
  const options = { cwd: "/", environment: {}, user: undefined };

  it("fail for answers that are none of the agent's", async () => {
    const { agent } = scriptedAgent(() => ({ return: { pid: "1; rm" } }));
    await expect(new GuestCommands(() => agent, options).exec({ command: ["true"] }, signal)).rejects.toThrow();
  });

  it("refuse a variable whose name is none, before anything is run", async () => {
    const { agent, heard } = scriptedAgent(() => ({ return: { pid: 1 } }));
    const command = { command: ["true"], environment: { "A B": "1" } };
    await expect(new GuestCommands(() => agent, options).exec(command, signal)).rejects.toMatchObject({
      error: "invalid_input",
    });
    expect(heard).toEqual([]);
  });
});

describe("what stat says of files", () => {
  it("is read for any name, and any other text is none", () => {
    const name = fc.string({ minLength: 1 }).filter((it) => !it.includes("\u0001"));
    fc.assert(
      fc.property(fc.array(name), (names) => {
        const text = names.map((it) => `\u000181a4 5 1700000000 0 7 /${it}\n`).join("");
        expect(parseStats(text).map(({ path }) => path)).toEqual(names.map((it) => `/${it}`));
      }),
    );
    fc.assert(fc.property(fc.string(), (text) => void parseStats(text)));
  });
});
