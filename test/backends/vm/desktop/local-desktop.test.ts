import { describe, expect, it, onTestFinished } from "vitest";
import VmBackend from "../../../../src/backends/vm/backend.ts";
import { Action } from "../../../../src/backends/vm/actions/action.ts";
import { VmConfig } from "../../../../src/backends/vm/config.ts";
import type { VmSession } from "../../../../src/backends/vm/session.ts";
import type { Session } from "../../../../src/core/session.ts";
import { lackingForDesktops, localRuntimes } from "../local-desktops.ts";
import { recordingLogger } from "../../../kit/recording-logger.ts";

const lacking = await lackingForDesktops();
if (lacking !== undefined) console.warn(`skipped: desktops of the local runtime; ${lacking}`);
const lifecycle = { resource: "vm", logger: recordingLogger(), signal: new AbortController().signal };
const { signal } = lifecycle;

function open(config: object, sessionConfig: Record<string, unknown> = {}) {
  const backend = new VmBackend({ config: { width: 640, height: 480, ...config }, runtimes: localRuntimes });
  const about = { id: "s", name: "vm_w_001", workerId: "w", tenant: "t", resource: "vm", config: sessionConfig };
  const request = { workerId: "w", tenant: "t", sessionId: "s", config: sessionConfig };
  const start = async (): Promise<Session<VmSession>> => {
    const session = { ...about, data: await backend.initialize(request, lifecycle) };
    onTestFinished(() => backend.cleanup(session));
    return session;
  };
  return { backend, start };
}

async function output({ data: { desktop } }: Session<VmSession>, command: string): Promise<string> {
  const result = await desktop.running.exec({ command: ["sh", "-c", command], timeoutMs: 20_000 }, signal);
  return result.stdout.text.trim();
}

describe("the config of desktops", () => {
  it.each([
    [{ setup: [{ do: "fly" }] }, /setup/],
    [{ setup: [{ do: "open", url: "not a url" }] }, /url/],
    [{ network: { allow: ["http://example.org"] } }, /network/],
    [{ unsafe: true }, /unsafe/],
    [{ pool: { min: -1 } }, /pool/],
  ])("refuses %j", (config, message) => {
    expect(VmConfig.safeParse(config).error?.message).toMatch(message);
  });

  it("bounds what sessions ask for", () => {
    const { sessionSchema } = new VmBackend({ config: { max_memory_mib: 4_096, images: ["a"] } });
    for (const config of [{ memory_mib: 5_000 }, { image: "b" }, { network: { allow: ["example.org"] } }, { x: 1 }]) {
      expect(sessionSchema.safeParse(config).success).toBe(false);
    }
    expect(sessionSchema.safeParse({ memory_mib: 4_096, image: "a", network: "none", dpi: 120 }).success).toBe(true);
  });
});

describe.skipIf(lacking !== undefined)("a desktop of the local runtime", () => {
  it("begins with its setup done: the config's, then the session's, and starts again fresh with both", async () => {
    const own = { setup: [{ do: "file", path: "notes/one.txt", text: "one" }] };
    const session = await open(own, {
      setup: [
        { do: "run", command: "cat notes/one.txt > two.txt; echo $DISPLAY >> two.txt" },
        { do: "file", path: "three.bin", base64: "AAEC" },
        { do: "launch", command: ["sleep", "600"] },
      ],
    }).start();
    expect(await output({ ...session }, "cat two.txt; od -An -tx1 three.bin")).toBe("one:1\n 00 01 02");
    const { data } = session;
    await data.desktop.running.files?.write("left", Buffer.from("x"), {}, signal);
    await expect(open(own).backend.reset(session, lifecycle)).resolves.toBeUndefined();
    expect(await output(session, "ls left; cat two.txt")).toBe("one:1");
    const { picture } = await data.desktop.operator.perform(Action.parse({ action: "screenshot" }), signal);
    expect(picture).toMatchObject({ width: 640, height: 480 });
  });

  it("names the step that failed, and leaves nothing behind", async () => {
    const { start } = open(
      {},
      {
        setup: [
          { do: "wait", ms: 1 },
          { do: "run", command: "echo oh no >&2; exit 3" },
        ],
      },
    );
    await expect(start()).rejects.toMatchObject({
      error: "dependency_failed",
      message: expect.stringMatching(/step 2 .*run.* ended with 3: oh no/),
      details: { step: 2, do: "run" },
    });
  });

  it("reaches nothing outside, and nothing outside its display but its own programs", async () => {
    const session = await open({}).start();
    expect(await output(session, "cat /proc/net/route | wc -l; ls /proc/net/dev && grep -c : /proc/net/dev")).toMatch(
      /^1\n\/proc\/net\/dev\n1$/,
    );
    expect(await output(session, "cat /proc/net/tcp | grep -c ' 0A '")).toBe("1");
  });

  it("is over when its X server ends, and its actions say so", async () => {
    const session = await open({}).start();
    const { desktop } = session.data;
    await output(session, "kill -9 $(pgrep Xtigervnc || ps ax | awk '/Xtigervnc :1/ {print $1; exit}')");
    expect(await desktop.running.ended).toContain("X server has ended");
    await expect(desktop.operator.perform(Action.parse({ action: "click" }), signal)).rejects.toMatchObject({
      error: "sandbox_dead",
    });
  });

  it("can be halted and started again at another size, with its files as they were", async () => {
    const session = await open({}).start();
    const { desktop } = session.data;
    await output(session, "echo kept > file");
    await desktop.halt();
    await expect(desktop.operator.perform(Action.parse({ action: "click" }), signal)).rejects.toMatchObject({
      error: "conflict",
    });
    await desktop.start(signal, { width: 800, height: 600, dpi: 120 });
    const { display } = await desktop.operator.perform(Action.parse({ action: "display_info" }), signal);
    expect(display).toMatchObject({ width: 800, height: 600 });
    expect(await output(session, "cat file")).toBe("kept");
  });

  it("is brought back to what it was when a snapshot was kept, with a display that works", async () => {
    const session = await open({}).start();
    const { desktop } = session.data;
    const { snapshots } = desktop.running;
    await output(session, "mkdir -p a/b; echo one > a/b/file; ln -s a/b/file link; chmod 600 a/b/file");
    await snapshots?.save("before", signal);
    await output(session, "echo two > a/b/file; touch later; rm link");
    await desktop.restore("before", signal);
    expect(await output(session, "cat link; stat -c %a a/b/file; ls later 2>/dev/null; echo $DISPLAY")).toBe(
      "one\n600\n:1",
    );
    await desktop.operator.perform(Action.parse({ action: "click", coordinate: [5, 5] }), signal);
    expect(snapshots?.names).toEqual(["before"]);
    await expect(desktop.restore("other", signal)).rejects.toMatchObject({ error: "unknown_name" });
  });

  it("comes from the pool when it is as usual, and is told so in health", async () => {
    const { backend, start } = open({ pool: { min: 1 } });
    onTestFinished(() => backend.shutdown());
    await backend.warmup();
    const stand = async () => (await backend.health(lifecycle)).details;
    await expect.poll(stand, { timeout: 30_000 }).toMatchObject({ pool: { ready: 1, claimed: 0 } });
    const session = await start();
    expect(await output(session, "echo $DISPLAY")).toBe(":1");
    expect(backend.pool).toMatchObject({ claimed: 1, misses: 0 });
  });
});
