import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import { expect, onTestFinished, test } from "vitest";
import VmBackend from "../../src/backends/vm/backend.ts";
import { Sandbox } from "../../src/client/sandbox.ts";
import { systemClock } from "../../src/core/clock.ts";
import { FileRecordings } from "../../src/store/recordings/file-recordings.ts";
import { lackingForDesktops, localRuntimes } from "../backends/vm/local-desktops.ts";
import { key, RfbViewer } from "../kit/rfb-viewer.ts";
import { recordingLogger } from "../kit/recording-logger.ts";
import { testServer } from "../kit/test-server.ts";
import { TtydClient } from "../kit/ttyd-client.ts";

const lacking = await lackingForDesktops();
if (lacking !== undefined) console.warn(`skipped: the client's desktop; ${lacking}`);

test.skipIf(lacking !== undefined)(
  "a desktop is watched, taken in hand, stopped and started from the facade",
  async () => {
    const folder = await mkdtemp(path.join(tmpdir(), "toolyard-client-"));
    onTestFinished(() => rm(folder, { recursive: true, force: true }));
    const maximum = { maxBytes: 1_000_000, maxAgeMs: 60_000_000 };
    const recordings = new FileRecordings({ folder, clock: systemClock, logger: recordingLogger(), ...maximum });
    const backend = new VmBackend({ config: {}, runtimes: localRuntimes });
    await using server = await testServer({ backends: [backend], recordings });
    await using sandbox = await Sandbox.open({ serverUrl: server.url, workerId: "w1" });
    const { desktop } = sandbox;
    expect(await desktop.status()).toMatchObject({ running: true, resolution: "1280x800", controlled_by: null });
    {
      await using held = await desktop.control.take({ holder: "Ada", ttlMs: 60_000 });
      await expect(sandbox.execute("vm:click", { x: 1, y: 1 })).rejects.toMatchObject({ error: "control_taken" });
      expect(await desktop.control.status()).toMatchObject({ taken: true, holder: "Ada" });
      const { url } = await desktop.watch({ mode: "control", controlLease: held.lease });
      const viewer = await RfbViewer.open(url);
      await expect.poll(() => viewer.receivedBytes).toBeGreaterThan(40);
      viewer.send(key(0xffe1, true), key(0xffe1, false));
      const told = () => sandbox.events({ types: ["desktop.input"], after: "0" });
      for await (const event of told()) {
        expect(event).toMatchObject({ actor: "human", data: { keys: 1 } });
        break;
      }
      viewer.socket.close();
      expect((await held.renew(1_000)).lease).toBe(held.lease);
    }
    expect(await desktop.control.status()).toEqual({ taken: false });
    await sandbox.execute("vm:click", { x: 1, y: 1 });

    const terminals = sandbox.terminalsOf("vm");
    expect(await terminals.start({ command: ["sh"], columns: 60 })).toMatchObject({ terminal_id: "t1", columns: 60 });
    const client = await TtydClient.open(await terminals.watch("t1", { mode: "control" }));
    client.type("echo $((6 * 7)); exit\r");
    await expect.poll(() => client.output).toContain("\r\n42\r\n");
    await expect.poll(async () => (await terminals.list())[0]?.running).toBe(false);
    const [recording] = await terminals.recordings();
    if (recording === undefined) throw new Error("nothing was recorded");
    expect(await (await terminals.download(recording.id)).text()).toContain("42\\r\\n");
    await terminals.deleteRecording(recording.id);
    expect(await terminals.recordings()).toEqual([]);

    expect(await desktop.stop()).toMatchObject({ running: false, url: null });
    expect(await desktop.start({ width: 640, height: 480 })).toMatchObject({ running: true, resolution: "640x480" });
  },
);
