import { duplexPair } from "node:stream";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { DisplayConnection } from "../../../src/backends/vm/rfb/display-connection.ts";
import { PixelRegion } from "../../../src/backends/vm/rfb/pixel-region.ts";
import { settle } from "../../kit/manual-clock.ts";
import { openScripted, rectangle, ScriptedDisplay } from "./scripted-display.ts";

const { signal } = new AbortController();
const at = (pixels: Buffer, width: number, x: number, y: number) => [
  ...pixels.subarray((y * width + x) * 4, (y * width + x) * 4 + 3),
];

describe("the connection to a display", () => {
  it("brings the whole screen, and a part of it", async () => {
    const { connection } = await openScripted();
    const whole = await connection.capture(signal);
    expect([whole.width, whole.height]).toEqual([64, 48]);
    expect(at(whole.pixels, 64, 63, 47)).toEqual(ScriptedDisplay.pixel(63, 47).slice(0, 3));
    const part = await connection.capture(signal, { x: 60, y: 40, width: 10, height: 2 });
    expect([part.width, part.height]).toEqual([4, 2]);
    expect(at(part.pixels, 4, 1, 1)).toEqual(ScriptedDisplay.pixel(61, 41).slice(0, 3));
  });

  it("answers captures that come at once, though the server answers only one request at a time", async () => {
    const { connection, display } = await openScripted();
    let open = 0;
    display.onRequest = (part, incremental) => {
      if (incremental) return;
      open += 1;
      expect(open).toBe(1);
      setImmediate(() => {
        open -= 1;
        display.send([display.raw(part)]);
      });
    };
    const pictures = await Promise.all([
      connection.capture(signal),
      connection.capture(signal),
      connection.capture(signal),
    ]);
    expect(pictures).toHaveLength(3);
  });

  it("puts together an answer that comes in several updates", async () => {
    const { connection, display } = await openScripted();
    display.onRequest = () => {
      display.send([display.raw({ x: 0, y: 0, width: 64, height: 20 })]);
      display.send([display.raw({ x: 0, y: 20, width: 30, height: 28 })]);
      display.send([display.raw({ x: 30, y: 20, width: 34, height: 28 })]);
    };
    const { pixels } = await connection.capture(signal);
    expect(at(pixels, 64, 40, 40)).toEqual(ScriptedDisplay.pixel(40, 40).slice(0, 3));
  });

  it("asks again when the server took the look of the pointer for an answer, as TigerVNC does", async () => {
    const { connection, display } = await openScripted();
    let told = false;
    display.onRequest = (part) => {
      const cursor = rectangle({ x: 1, y: 0, width: 2, height: 1 }, -239, Buffer.from([9, 8, 7, 0, 1, 2, 3, 0, 0x40]));
      if (told) display.send([display.raw(part)]);
      else display.send([cursor]);
      told = true;
    };
    await connection.capture(signal);
    expect(connection.cursor).toMatchObject({ width: 2, height: 1, hotspot: { x: 1, y: 0 } });
    expect([...(connection.cursor?.pixels ?? [])]).toEqual([9, 8, 7, 0, 1, 2, 3, 255]);
    expect(display.requests.map(({ part }) => part.width)).toEqual([64, 64]);
  });

  it("shows the new screen when its size changes under a capture", async () => {
    const { connection, display } = await openScripted();
    let resized = false;
    display.onRequest = (part) => {
      if (resized) return display.send([display.raw(part)]);
      resized = true;
      display.send([rectangle({ x: 0, y: 0, width: 20, height: 10 }, -223, Buffer.alloc(0))]);
    };
    expect(await connection.capture(signal)).toMatchObject({ width: 20, height: 10 });
    expect([connection.width, connection.height]).toEqual([20, 10]);
  });

  it("asks only for what has changed once it has seen all, and shows it", async () => {
    const { connection, display } = await openScripted();
    await connection.capture(signal);
    display.requests.length = 0;
    display.onRequest = (part, incremental) => {
      const changed = rectangle({ x: 5, y: 6, width: 1, height: 1 }, 0, Buffer.from([1, 2, 3, 0]));
      if (!incremental) display.send([changed, display.raw(part)]);
    };
    const { pixels } = await connection.capture(signal);
    expect(at(pixels, 64, 5, 6)).toEqual([1, 2, 3]);
    expect(at(pixels, 64, 63, 47)).toEqual(ScriptedDisplay.pixel(63, 47).slice(0, 3));
    expect(display.requests).toMatchObject([
      { incremental: true, part: { width: 64, height: 48 } },
      { incremental: false, part: { width: 1, height: 1 } },
    ]);
  });

  it("does not take the answer to an older request for that to a later one", async () => {
    const { connection, display } = await openScripted();
    await connection.capture(signal);
    display.onRequest = () => {};
    const over = new AbortController();
    const watched = connection.nextChange(over.signal);
    over.abort();
    await expect(watched).rejects.toThrow();
    const captured = connection.capture(signal);
    await settle();
    // All of the screen as it was before: it covers whatever the capture waits for.
    const changed = rectangle({ x: 5, y: 6, width: 1, height: 1 }, 0, Buffer.from([1, 2, 3, 0]));
    display.onRequest = (part, incremental) => {
      if (!incremental) display.send([changed, display.raw(part)]);
    };
    display.send([display.raw({ x: 0, y: 0, width: 64, height: 48 })]);
    expect(at((await captured).pixels, 64, 5, 6)).toEqual([1, 2, 3]);
  });

  it("moves parts of the picture that the server says to copy, also onto themselves", async () => {
    const { connection, display } = await openScripted();
    await connection.capture(signal);
    const changed = connection.nextChange(signal);
    display.send([rectangle({ x: 10, y: 5, width: 20, height: 20 }, 1, Buffer.from([0, 8, 0, 5]))]);
    await changed;
    const { pixels } = await connection.capture(signal, { x: 10, y: 5, width: 2, height: 1 });
    expect([...pixels.subarray(0, 3)]).toEqual(ScriptedDisplay.pixel(8, 5).slice(0, 3));
  });

  it("knows where the pointer is: where it was put, or where a program put it", async () => {
    const { connection, display } = await openScripted();
    expect(connection.position).toEqual({ x: 32, y: 24 });
    connection.pointer(5, 6, 0);
    expect(connection.position).toEqual({ x: 5, y: 6 });
    display.send([rectangle({ x: 7, y: 9, width: 0, height: 0 }, 0x57_4d_56_66, Buffer.alloc(0))]);
    await settle();
    expect(connection.position).toEqual({ x: 7, y: 9 });
  });

  it("ends whoever waits when the display goes, and refuses all after", async () => {
    const { connection, display } = await openScripted();
    display.onRequest = () => display.end();
    await expect(connection.capture(signal)).rejects.toMatchObject({ error: "sandbox_dead" });
    expect((await connection.closed).message).toContain("closed");
    expect(() => connection.key(65, true)).toThrow(/the display is gone/);
    await expect(connection.nextChange(signal)).rejects.toMatchObject({ error: "sandbox_dead" });
  });

  it("gives up a capture with its signal, and goes on", async () => {
    const { connection, display } = await openScripted();
    const answer = display.onRequest;
    display.onRequest = () => {};
    const over = new AbortController();
    const given = connection.capture(over.signal);
    await settle();
    const behind = new AbortController();
    const queued = connection.capture(behind.signal);
    behind.abort(new Error("too long"));
    await expect(queued).rejects.toThrow("too long");
    over.abort(new Error("enough"));
    await expect(given).rejects.toThrow("enough");
    display.onRequest = answer;
    await expect(connection.capture(signal)).resolves.toMatchObject({ width: 64 });
  });

  it.each([
    ["another protocol", "SSH-2.0-OpenSSH_9\r\n", /no VNC server/],
    ["an old version", "RFB 003.003\n", /003.008 is needed/],
    ["a password", "RFB 003.008\n\u0001\u0002", /wants a password/],
    ["a refusal", "RFB 003.008\n\u0000\u0000\u0000\u0000\u0003no!", /refuses: no!/],
  ])("refuses %s", async (_what, greeting, message) => {
    const [ours, theirs] = duplexPair();
    theirs.write(Buffer.from(greeting, "latin1"));
    await expect(DisplayConnection.open(ours, signal)).rejects.toMatchObject({
      error: "dependency_failed",
      message: expect.stringMatching(message),
    });
  });

  it.each([
    ["a rectangle outside the screen", rectangle({ x: 60, y: 0, width: 5, height: 1 }, 0, Buffer.alloc(0))],
    ["an encoding that was not asked for", rectangle({ x: 0, y: 0, width: 5, height: 1 }, 16, Buffer.alloc(0))],
    ["a screen over the cap", rectangle({ x: 0, y: 0, width: 65_535, height: 65_535 }, -223, Buffer.alloc(0))],
    ["a pointer over the cap", rectangle({ x: 0, y: 0, width: 60_000, height: 2 }, -239, Buffer.alloc(0))],
  ])("ends at %s", async (_what, bad) => {
    const { connection, display } = await openScripted();
    display.onRequest = () => display.send([bad]);
    await expect(connection.capture(signal)).rejects.toMatchObject({ error: "sandbox_dead" });
  });

  it("reads the same whatever the pieces are that it comes in", async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(fc.integer({ min: 1, max: 700 }), { minLength: 1, maxLength: 30 }), async (cuts) => {
        const { connection, display } = await openScripted({ width: 16, height: 12 });
        display.onRequest = () => {
          const header = Buffer.from([0, 0, 0, 2]);
          const all = Buffer.concat([
            header,
            display.raw({ x: 0, y: 0, width: 16, height: 5 }),
            display.raw({ x: 0, y: 5, width: 16, height: 7 }),
          ]);
          let offset = 0;
          for (const cut of [...cuts, all.length]) {
            if (offset < all.length) display.write(all.subarray(offset, offset + cut));
            offset += cut;
          }
        };
        const { pixels } = await connection.capture(signal);
        expect(at(pixels, 16, 15, 11)).toEqual(ScriptedDisplay.pixel(15, 11).slice(0, 3));
        connection.close();
      }),
      { numRuns: 40 },
    );
  });

  it("ends or waits at any bytes, and never answers with what was not sent", async () => {
    await fc.assert(
      fc.asyncProperty(fc.uint8Array({ minLength: 1, maxLength: 200 }), async (bytes) => {
        const { connection, display } = await openScripted({ width: 4, height: 4 });
        display.onRequest = () => {
          display.write(bytes);
          display.end();
        };
        const ended = await connection.capture(signal).catch((error: unknown) => error);
        // Only bytes that are a whole picture make one: four bytes of head, twelve of a rectangle, 64 of pixels.
        if (bytes.length < 80) expect(ended).toMatchObject({ error: "sandbox_dead" });
        connection.close();
      }),
      { numRuns: 200 },
    );
  });
});

describe("a region", () => {
  it("is empty exactly when its pixels have all been taken away", () => {
    const side = fc.integer({ min: 0, max: 8 });
    const part = fc.record({ x: side, y: side, width: side, height: side });
    fc.assert(
      fc.property(fc.array(part, { maxLength: 12 }), (parts) => {
        const region = new PixelRegion({ x: 1, y: 1, width: 6, height: 6 });
        const missing = new Set<string>();
        for (let x = 1; x < 7; x += 1) for (let y = 1; y < 7; y += 1) missing.add(`${x},${y}`);
        for (const { x, y, width, height } of parts) {
          region.subtract({ x, y, width, height });
          for (let column = x; column < x + width; column += 1) {
            for (let row = y; row < y + height; row += 1) missing.delete(`${column},${row}`);
          }
          expect(region.isEmpty).toBe(missing.size === 0);
        }
      }),
    );
  });
});
