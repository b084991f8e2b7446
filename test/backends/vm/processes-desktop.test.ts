import sharp from "sharp";
import { describe, expect, it } from "vitest";
import { desktopServer } from "./desktop-server.ts";
import { lackingForDesktops } from "./local-desktops.ts";

const lacking = await lackingForDesktops();
if (lacking !== undefined) console.warn(`skipped: processes and size of a real desktop; ${lacking}`);

describe.skipIf(lacking !== undefined)("a session's desktop", () => {
  it("tells what it consists of and what that wrote, refuses actions while it is stopped, and keeps its files", async () => {
    const { open, call, fail } = await desktopServer();
    await open();
    await call("run_command", { command: "echo kept > kept.txt" });
    expect(await call("processes")).toMatchObject({
      processes: [
        { name: "Xtigervnc", running: true, pid: expect.any(Number), memory_bytes: expect.any(Number) },
        { name: "fluxbox", running: true },
        { name: "dbus-daemon" },
      ],
      programs: expect.arrayContaining([expect.objectContaining({ command: ["toolyard-desktop"], running: true })]),
    });
    expect(await call("logs")).toMatchObject({
      text: expect.stringContaining("the display is ready"),
      truncated: false,
    });
    expect(await fail("logs", { id: "nowhere" })).toMatchObject({ error: "unknown_name" });
    expect(await call("stop")).toMatchObject({ running: false });
    expect((await call("processes")).processes).toMatchObject([{ running: false }, { running: false }, {}]);
    expect(await fail("click", { x: 1, y: 1 })).toMatchObject({ error: "conflict", message: "the desktop is stopped" });
    expect(await call("start")).toMatchObject({ running: true, resolution: "640x480" });
    expect(await call("click", { x: 1, y: 1 })).toMatchObject({ clicked: [1, 1] });
    expect(await call("run_command", { command: "cat kept.txt" })).toMatchObject({ stdout: "kept\n" });
  });

  it("changes its size, which screenshots and points follow, and keeps it when it is started again", async () => {
    const { open, call, fail } = await desktopServer();
    await open();
    expect(await call("change_resolution", { width: 800, height: 500 })).toEqual({
      width: 800,
      height: 500,
      resolution: "800x500",
    });
    const { image, size } = await call("screenshot");
    expect(size).toEqual([800, 500]);
    expect(await sharp(Buffer.from(image, "base64")).metadata()).toMatchObject({ width: 800, height: 500 });
    expect(await call("click", { x: 799, y: 499 })).toMatchObject({ clicked: [799, 499] });
    expect(await call("restart")).toMatchObject({ resolution: "800x500" });
    expect(await call("change_resolution", { width: 400, height: 300 })).toMatchObject({ resolution: "400x300" });
    expect(await fail("click", { x: 799, y: 499 })).toMatchObject({ error: "invalid_input" });
    expect(await fail("change_resolution", { width: 9_000, height: 300 })).toMatchObject({ outcome: "rejected" });
  });
});
