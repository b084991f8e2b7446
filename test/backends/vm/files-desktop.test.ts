import { describe, expect, it } from "vitest";
import { desktopServer } from "./desktop-server.ts";
import { lackingForDesktops } from "./local-desktops.ts";

const lacking = await lackingForDesktops();
if (lacking !== undefined) console.warn(`skipped: files of a real desktop; ${lacking}`);

describe.skipIf(lacking !== undefined)("files of a desktop", () => {
  it("go in and out in stretches by tools, and whole over HTTP", async () => {
    const { server, open, call, fail } = await desktopServer();
    const session = await open();
    const bytes = Buffer.from([0, 255, 10, 128, 1, 2, 3]);
    const content = (part: Buffer) => ({ path: "in/data.bin", content: part.toString("base64") });
    expect(await call("upload_file", content(bytes.subarray(0, 4)))).toMatchObject({ size_bytes: 4, created: true });
    expect(await call("upload_file", { ...content(bytes.subarray(4)), append: true })).toMatchObject({ size_bytes: 7 });
    const first = await call("download_file", { path: "in/data.bin", length: 5 });
    expect(first).toMatchObject({ offset: 0, length: 5, size_bytes: 7, ended: false });
    const rest = await call("download_file", { path: "in/data.bin", offset: 5 });
    expect(rest).toMatchObject({ length: 2, ended: true });
    expect(Buffer.concat([first, rest].map((part) => Buffer.from(part.content, "base64")))).toEqual(bytes);
    await call("upload_file", { path: "run.sh", content: "#!/bin/sh\necho hi\n", encoding: "utf-8", mode: "0755" });
    expect(await call("run_command", { command: "./run.sh" })).toMatchObject({ stdout: "hi\n" });
    const { entries } = await call("list_files", { depth: 2 });
    expect(entries).toContainEqual(
      expect.objectContaining({ path: expect.stringMatching(/in\/data\.bin$/), size_bytes: 7 }),
    );
    const url = `${server.url}/api/v1/session/${session}/files?path=in/data.bin`;
    expect(Buffer.from(await (await fetch(url)).arrayBuffer())).toEqual(bytes);
    expect((await fetch(`${url}.2`, { method: "PUT", body: bytes })).status).toBe(201);
    expect(await call("download_file", { path: "in/data.bin.2" })).toMatchObject({ size_bytes: 7 });
    expect(await fail("upload_file", { path: "x", content: "***" })).toMatchObject({ error: "invalid_input" });
    expect(await fail("download_file", { path: "nowhere" })).toMatchObject({ error: "path_not_found" });
  });
});
