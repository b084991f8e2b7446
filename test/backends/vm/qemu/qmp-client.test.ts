import { type Duplex, duplexPair } from "node:stream";
import { describe, expect, it } from "vitest";
import { JsonLines, type JsonMessage, toLine } from "../../../../src/backends/vm/qemu/json-lines.ts";
import { QmpClient, QmpError } from "../../../../src/backends/vm/qemu/qmp-client.ts";
import { MachineSnapshots } from "../../../../src/backends/vm/qemu/machine-snapshots.ts";

const { signal } = new AbortController();
type Answer = (command: string, args: JsonMessage, say: (message: JsonMessage) => void) => unknown;

/** A QEMU that answers as it is told; `undefined` is no answer. */
function scriptedQemu(answer: Answer): { ours: Duplex; theirs: Duplex; heard: string[] } {
  const [ours, theirs] = duplexPair();
  const lines = new JsonLines(100_000);
  const heard: string[] = [];
  const say = (message: JsonMessage) => void theirs.write(toLine(message));
  theirs.on("data", (chunk: Buffer) => {
    for (const { execute, arguments: args, id } of lines.push(chunk)) {
      heard.push(String(execute));
      const said =
        execute === "qmp_capabilities" ? { return: {} } : answer(String(execute), { ...(args as object) }, say);
      if (said !== undefined) say({ ...(said as object), id });
    }
  });
  say({ QMP: { version: {}, capabilities: [] } });
  return { ours, theirs, heard };
}

describe("a client of QMP", () => {
  it("matches answers to commands, in whatever order they come", async () => {
    let first: JsonMessage | undefined;
    const { ours } = scriptedQemu((command, _args, say) => {
      if (command === "first") {
        first = { return: 1, id: 2 };
        return undefined;
      }
      if (first !== undefined) setImmediate(() => say(first ?? {}));
      return { return: 2 };
    });
    const client = await QmpClient.open(ours, signal);
    const both = [client.execute("first", {}, signal), client.execute("second", {}, signal)];
    expect(await Promise.all(both)).toEqual([1, 2]);
  });

  it("tells QEMU's refusal, and events to who listens", async () => {
    const { ours } = scriptedQemu((_command, _args, say) => {
      say({ event: "RESET", data: { guest: true }, timestamp: {} });
      return { error: { class: "GenericError", desc: "no such thing" } };
    });
    const client = await QmpClient.open(ours, signal);
    const events: unknown[] = [];
    client.onEvent((event) => events.push(event));
    const refused = client.execute("x", {}, signal);
    await expect(refused).rejects.toThrow("x: no such thing");
    await expect(refused).rejects.toBeInstanceOf(QmpError);
    expect(events).toEqual([{ event: "RESET", data: { guest: true } }]);
  });

  it.each([["no JSON\n"], ["[]\n"], ['{"id": 1}\n'], ['{"error": 1, "id": 2}\n']])("ends at %j", async (rubbish) => {
    const { ours, theirs } = scriptedQemu(() => undefined);
    const client = await QmpClient.open(ours, signal);
    const waiting = client.execute("x", {}, signal);
    theirs.write(rubbish);
    await expect(waiting).rejects.toMatchObject({ error: "sandbox_dead" });
    await expect(client.execute("x", {}, signal)).rejects.toMatchObject({ error: "sandbox_dead" });
  });

  it("does not wait for a QEMU that goes before its greeting, nor after its caller has gone", async () => {
    const [ours, theirs] = duplexPair();
    const opening = QmpClient.open(ours, signal);
    theirs.end();
    await expect(opening).rejects.toMatchObject({ error: "sandbox_dead" });
    const caller = new AbortController();
    const client = await QmpClient.open(scriptedQemu(() => undefined).ours, signal);
    const waiting = client.execute("x", {}, caller.signal);
    caller.abort(new Error("gone"));
    await expect(waiting).rejects.toThrow("gone");
  });
});

describe("snapshots of a machine", () => {
  it("say what a job failed of, and that no room is a limit", async () => {
    let job: unknown;
    const { ours, heard } = scriptedQemu((command, args, say) => {
      if (command === "query-jobs") return { return: [{ id: job, status: "concluded", error: "File too large" }] };
      if (command !== "snapshot-save") return { return: {} };
      job = args["job-id"];
      setImmediate(() => say({ event: "JOB_STATUS_CHANGE", data: { id: job, status: "concluded" } }));
      return { return: {} };
    });
    const qmp = await QmpClient.open(ours, signal);
    const snapshots = new MachineSnapshots(() => ({ qmp, agent: undefined }));
    await expect(snapshots.save("a", signal)).rejects.toMatchObject({
      error: "limit_exceeded",
      details: { limit: "disk_mib" },
    });
    expect(heard).toContain("job-dismiss");
    expect(snapshots.names).toEqual([]);
  });
});
