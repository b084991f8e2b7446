import { readdirSync, readFileSync } from "node:fs";
import { afterAll, afterEach, beforeEach, describe, expect, it } from "vitest";
import type { SandboxInstance } from "../../src/core/runtime.ts";
import { LocalRuntime } from "../../src/runtimes/local/runtime.ts";
import { echo, run } from "../kit/runtime-conformance.ts";

const never = new AbortController().signal;
const { available } = await new LocalRuntime().check(never);

/** Python that speaks in its own kernel's name; `X` in a frame is the live execution. */
const FORGE = `import gc, struct, time
kernel = [o for o in gc.get_objects() if type(o).__name__ == "Kernel" and hasattr(o, "loop")][0]
kernel.channel.socket.setblocking(True)
def send(frame, encoding="utf-8"):
    payload = frame.replace("X", str(kernel.x)).encode(encoding)
    kernel.channel.socket.sendall(struct.pack(">I", len(payload)) + payload)
`;
const forge = (frame: string, encoding = "utf-8") =>
  `${FORGE}send(${JSON.stringify(frame)}, ${JSON.stringify(encoding)})\ntime.sleep(60)\n`;
const DONE = `"t":"done","x":X,"text":null,"value_truncated":false`;
const VIOLATION = { status: "error", error: { name: "ProtocolViolation" }, stateLost: true };

describe.runIf(available)("a guest that forges frames in the local runtime", () => {
  const runtime = new LocalRuntime({ limits: { memoryMiB: 256, pids: 48, callsInFlight: 4 } });
  let sandbox: SandboxInstance;
  beforeEach(async () => {
    sandbox = await runtime.create({}, never);
  });
  afterEach(() => sandbox.stop());
  afterAll(() => runtime.close());

  const FRAMES: Readonly<Record<string, readonly [frame: string, encoding?: string]>> = {
    "an idle without pending": [`{"t":"idle","x":X}`],
    "an idle whose pending holds no ids": [`{"t":"idle","x":X,"pending":[true]}`],
    "a call's id that is no safe integer": [`{"t":"call","x":X,"i":${"9".repeat(30)},"tool":"echo","args":{}}`],
    "a call's id that is a boolean": [`{"t":"call","x":X,"i":true,"tool":"echo","args":{}}`],
    "a number that JSON does not have": [`{"t":"call","x":X,"i":0,"tool":"echo","args":{"n":NaN}}`],
    "a number that is too large": [`{"t":"call","x":X,"i":0,"tool":"echo","args":{"n":1e999}}`],
    "an execution that is a boolean": [`{"t":"idle","x":true,"pending":[]}`],
    "an encoding that is not UTF-8": [`{"t":"idle","x":X,"pending":[]}`, "utf-16"],
    "a result that JSON does not have": [`{${DONE},"value":1e999,"error":null}`],
    "an error that is no object": [`{${DONE},"value":1,"error":[]}`],
  };
  for (const [name, [frame, encoding]] of Object.entries(FRAMES)) {
    it(`costs it its interpreter and nobody else's: ${name}`, async () => {
      const python = await sandbox.openKernel("python", never);
      const bash = await sandbox.openKernel("bash", never);
      await run(bash, "kept=1");
      expect(await run(python, forge(frame, encoding), { onCall: echo })).toMatchObject(VIOLATION);
      expect((await run(bash, "echo $kept")).stdout.text).toBe("1\n");
      expect((await run(python, "1 + 1")).value).toBe(2);
    });
  }

  it("drops what a kernel says of its end where the type is wrong", async () => {
    const python = await sandbox.openKernel("python", never);
    const error = `{"name":"E","message":"m","traceback":"","line":true}`;
    const ended = await run(python, forge(`{${DONE},"value":1,"exit_code":${"9".repeat(30)},"error":${error}}`));
    expect(ended).toMatchObject({ status: "error", error: { name: "E" }, exitCode: null });
    expect(ended.error).not.toHaveProperty("line");
  });

  it("leaves a result out that no frame can hold", async () => {
    const python = await sandbox.openKernel("python", never);
    const big = `${FORGE}send('{${DONE},"error":null,"value":"' + "\\\\u0001" * 1_390_000 + '"}')\ntime.sleep(60)`;
    const code = `import os\nos.write(1, b"\\0" * 60_000)\n${big}`;
    expect(await run(python, code)).toMatchObject({ status: "ok", value: null, valueTruncated: true });
  });

  it("may not have more calls in flight than allowed", async () => {
    const python = await sandbox.openKernel("python", never);
    const code = `${FORGE}for i in range(5): send('{"t":"call","x":X,"i":%d,"tool":"echo","args":{}}' % i)\ntime.sleep(60)`;
    expect(await run(python, code, { onCall: () => new Promise(() => {}) })).toMatchObject(VIOLATION);
  });

  it("passes text of every kind on", async () => {
    const python = await sandbox.openKernel("python", never);
    const code = `await tools.call("echo", text="é中😀\\ud800\\\\")`;
    expect((await run(python, code, { onCall: echo })).value).toEqual({ text: "é中😀\ud800\\" });
  });

  it.each(["head -c 1000000 /dev/zero", "printf '1 %s\\n' 99999999999999999999", "printf '\\n'"])(
    "costs bash its shell: %s",
    async (write) => {
      const bash = await sandbox.openKernel("bash", never);
      expect(await run(bash, `${write} >&8; sleep 60; echo late`)).toMatchObject({
        ...VIOLATION,
        stdout: { text: "" },
      });
      expect((await run(bash, "echo back")).stdout.text).toBe("back\n");
    },
  );

  it("tells of a signal that has no name", async () => {
    const bash = await sandbox.openKernel("bash", never);
    expect(await run(bash, "kill -40 $$; sleep 60")).toMatchObject({ status: "exited", signal: "SIGRTMIN+6" });
  });

  it("waits with its frames for a host that does not read", async () => {
    const python = await sandbox.openKernel("python", never);
    const flood = `${FORGE}import re, select
def peak():
    return int(re.search(r"VmHWM:\\s+(\\d+)", open("/proc/1/status").read())[1])
before = peak()
print("reading stops", flush=True)
payload = ('{"t":"idle","x":%d,"pending":[],"pad":"%s"}' % (kernel.x, "x" * 100_000)).encode()
frame = struct.pack(">I", len(payload)) + payload
sock, sent, rest = kernel.channel.socket, 0, b""
sock.setblocking(False)
while sent < 96 << 20 and select.select([], [sock], [], 1)[1]:
    rest = rest or frame
    count = sock.send(rest)
    rest, sent = rest[count:], sent + count
grown = peak() - before
with open("/proc/self/comm", "w") as comm:
    comm.write("flood${process.pid}")
sock.setblocking(True)
sock.sendall(rest)
grown`;
    const flooded = () =>
      readdirSync("/proc").some((pid) => {
        try {
          return readFileSync(`/proc/${pid}/comm`, "utf8") === `flood${process.pid}\n`;
        } catch {
          return false;
        }
      });
    const onOutput = () => expect.poll(() => flooded()).toBe(true);
    const { status, value } = await run(python, flood, { onOutput });
    expect(status).toBe("ok");
    expect(value).toBeLessThan(32 * 1024);
  });
});
