import { request } from "node:http";
import { describe, expect, it } from "vitest";
import { defaultLimitsConfig } from "../../src/config/limits.ts";
import { boxServer, filesPath } from "../kit/box-server.ts";
import { Gate } from "../kit/gate.ts";
import { keyedServer } from "../kit/keyed-server.ts";
import { ManualClock } from "../kit/manual-clock.ts";
import { MemoryFiles } from "../kit/memory-files.ts";
import { SandboxedBackend } from "../kit/sandboxed-backend.ts";
import { rawExchange, statusOf } from "../kit/raw-http.ts";
import type { Answer } from "../kit/test-server.ts";
import { ScriptedBackend } from "../kit/scripted-backend.ts";

/** Uploads, and reads the answer. */
async function put(url: string, body: string, headers: Record<string, string> = {}) {
  return read(await fetch(url, { method: "PUT", body, headers }));
}

async function read(response: Response): Promise<Answer> {
  // Every such answer is JSON; one that is not fails the test here.
  return { status: response.status, headers: response.headers, body: JSON.parse(await response.text()) };
}

describe("downloading a file", () => {
  it("sends it whole, as an attachment that no page can run", async () => {
    await using server = await boxServer();
    server.files.put('répört "1".html', "<script>steal()</script>");
    const answer = await fetch(server.url + server.at('répört "1".html'));
    expect(await answer.text()).toBe("<script>steal()</script>");
    expect(Object.fromEntries(answer.headers)).toMatchObject({
      "content-type": "text/html; charset=utf-8",
      "content-length": "24",
      "accept-ranges": "bytes",
      "x-content-type-options": "nosniff",
      "content-disposition": `attachment; filename="r_p_rt _1_.html"; filename*=UTF-8''r%C3%A9p%C3%B6rt%20%221%22.html`,
      "content-security-policy": expect.stringMatching(/^sandbox;/),
    });
  });

  it("shows it inline on demand, still without an origin of ours", async () => {
    await using server = await boxServer();
    server.files.put("a.svg", "<svg/>");
    const { headers } = await fetch(server.url + server.at("a.svg", "&inline=true"));
    expect(headers.get("content-disposition")).toMatch(/^inline;/);
    expect(headers.get("content-security-policy")).toMatch(/^sandbox;/);
  });

  it("sends one range, and 416 for one past the end", async () => {
    await using server = await boxServer();
    server.files.put("digits", "0123456789");
    const range = async (value: string) => {
      const answer = await fetch(server.url + server.at("digits"), { headers: { range: value } });
      return [answer.status, answer.headers.get("content-range"), await answer.text()];
    };
    expect(await range("bytes=2-4")).toEqual([206, "bytes 2-4/10", "234"]);
    expect(await range("bytes=7-")).toEqual([206, "bytes 7-9/10", "789"]);
    expect(await range("bytes=-3")).toEqual([206, "bytes 7-9/10", "789"]);
    expect(await range("bytes=0-99")).toEqual([206, "bytes 0-9/10", "0123456789"]);
    expect(await range("bytes=10-")).toEqual([416, "bytes */10", ""]);
    expect(await range("bytes=0-1,3-4")).toEqual([200, null, "0123456789"]);
  });

  it("sends the whole of a file that changed since a client read its first part", async () => {
    await using server = await boxServer();
    server.files.put("digits", "0123456789");
    const first = await fetch(server.url + server.at("digits"), { headers: { range: "bytes=0-1" } });
    const headers = { range: "bytes=2-", "if-range": first.headers.get("etag") ?? "" };
    expect((await fetch(server.url + server.at("digits"), { headers })).status).toBe(206);
    server.files.put("digits", "abcdefghij", { modifiedAt: 1_700_000_000_001 });
    expect(await (await fetch(server.url + server.at("digits"), { headers })).text()).toBe("abcdefghij");
  });

  it("answers HEAD with the headers alone, and 304 to who has it", async () => {
    await using server = await boxServer();
    server.files.put("digits", "0123456789");
    const head = await fetch(server.url + server.at("digits"), { method: "HEAD" });
    expect([head.status, head.headers.get("content-length"), await head.text()]).toEqual([200, "10", ""]);
    const headers = { "if-none-match": head.headers.get("etag") ?? "" };
    expect((await fetch(server.url + server.at("digits"), { headers })).status).toBe(304);
    expect(server.engine.loans.count).toBe(0);
  });

  it("goes over links, and refuses what is no file", async () => {
    await using server = await boxServer();
    server.files.put("dir/real", "here");
    server.files.put("dir/link", "", { kind: "symlink", target: "real" });
    server.files.put("loop", "", { kind: "symlink", target: "loop" });
    server.files.put("pipe", "", { kind: "fifo" });
    server.files.put("dir", "", { kind: "directory" });
    expect(await (await fetch(server.url + server.at("dir/link"))).text()).toBe("here");
    for (const path of ["loop", "pipe", "dir"]) {
      const answer = await server.get(server.at(path));
      expect([answer.status, answer.body.meta["error"]]).toEqual([400, "path_refused"]);
    }
    expect((await server.get(server.at("nothing"))).body.meta["error"]).toBe("path_not_found");
    expect(server.engine.loans.count).toBe(0);
  });

  it("packs a folder", async () => {
    await using server = await boxServer();
    server.files.put("out", "", { kind: "directory" });
    const answer = await fetch(server.url + server.at("out", "&format=zip"));
    expect(await answer.text()).toBe("zip of out");
    expect(answer.headers.get("content-disposition")).toContain('filename="out.zip"');
    expect((await server.get(server.at("out", "&format=rar"))).body.meta["error"]).toBe("invalid_input");
  });

  it("breaks off, and does not end well, when the file becomes shorter", async () => {
    await using server = await boxServer();
    server.files.put("big", new Uint8Array(600_000));
    server.files.onRead = (offset) => {
      if (offset > 0) server.files.put("big", "");
    };
    await expect(fetch(server.url + server.at("big")).then((answer) => answer.arrayBuffer())).rejects.toThrow();
    expect(server.engine.loans.count).toBe(0);
  });

  it("reads no further than its client, and lets the session go when that one leaves", async () => {
    await using server = await boxServer();
    server.files.put("big", new Uint8Array(64 * 1024 * 1024));
    let furthest = 0;
    server.files.onRead = (offset) => void (furthest = offset);
    const gone = new AbortController();
    const answer = await fetch(server.url + server.at("big"), { signal: gone.signal });
    await answer.body?.getReader().read();
    await expect.poll(() => server.engine.loans.count).toBe(1);
    gone.abort();
    await expect.poll(() => server.engine.loans.count).toBe(0);
    // The rest waits in the kernel's buffers of both ends, never in the server.
    expect(furthest).toBeLessThan(32 * 1024 * 1024);
  });

  it("cuts off a client that takes nothing for too long", async () => {
    const clock = new ManualClock();
    await using server = await boxServer({ clock, http: { transferStallMs: 5_000 } });
    server.files.put("big", new Uint8Array(64 * 1024 * 1024));
    const closed = Promise.withResolvers<void>();
    request(server.url + server.at("big"), (answer) => {
      answer.pause();
      answer.once("error", () => closed.resolve());
    }).end();
    await expect.poll(() => server.engine.loans.count).toBe(1);
    await expect
      .poll(async () => {
        await clock.advance(5_000);
        return server.engine.loans.count;
      })
      .toBe(0);
  });
});

describe("uploading a file", () => {
  it("writes it with its mode, and says whether it is new", async () => {
    await using server = await boxServer();
    const first = await put(server.url + server.at("a/b.sh", "&mode=755"), "echo 1");
    expect([first.status, first.body.data]).toEqual([201, { path: "a/b.sh", size_bytes: 6, created: true }]);
    expect(server.files.entries.get("/workspace/a/b.sh")?.mode).toBe(0o755);
    const second = await put(server.url + server.at("a/b.sh"), "echo 2");
    expect([second.status, second.body.data.created]).toEqual([200, false]);
    for (const [more, headers] of [
      ["&exclusive=true", {}],
      ["", { "if-none-match": "*" }],
    ] as const) {
      expect((await put(server.url + server.at("a/b.sh", more), "echo 3", headers)).status).toBe(409);
    }
    expect(server.files.text("a/b.sh")).toBe("echo 2");
    expect((await put(server.url + server.at("x", "&mode=4755"), "")).status).toBe(400);
  });

  it("C06: leaves nothing of one whose client drops in the middle", async () => {
    await using server = await boxServer();
    const { hostname, port } = new URL(server.url);
    const sent = request({
      hostname,
      port,
      method: "PUT",
      path: server.at("half"),
      headers: { "content-length": 1_000 },
    });
    sent.on("error", () => undefined);
    sent.write("x".repeat(500));
    await expect.poll(() => server.engine.loans.count).toBe(1);
    sent.destroy();
    await expect.poll(() => server.engine.loans.count).toBe(0);
    expect(server.files.text("half")).toBeUndefined();
  });

  it("refuses one that is too large, whether it says so or not", async () => {
    await using server = await boxServer({ http: { uploadBytes: 1_000 } });
    const said = await put(server.url + server.at("big"), "x".repeat(1_001));
    expect([said.status, said.body.data.limit]).toEqual([413, "upload_bytes"]);
    const head = `PUT ${server.at("big")} HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\n`;
    expect(statusOf(await rawExchange(server.port, `${head}7d0\r\n${"x".repeat(2_000)}\r\n`))).toBe(413);
    expect(server.files.text("big")).toBeUndefined();
  });

  it("may take longer than other requests, but never stand still", async () => {
    const short = { headersTimeoutMs: 50, requestTimeoutMs: 60 };
    await using patient = await boxServer({ http: { ...short, transferStallMs: 600_000 } });
    await using strict = await boxServer({ http: { ...short, transferStallMs: 100 } });
    const upload = (server: typeof strict, ends: boolean) =>
      new Promise<number | string>((resolve) => {
        const { hostname, port } = new URL(server.url);
        const path = server.at("slow");
        const sent = request({ hostname, port, method: "PUT", path, headers: { "content-length": 2 } });
        sent.on("error", () => resolve("cut off"));
        sent.on("response", (answer) => resolve(answer.statusCode ?? 0));
        sent.write("a");
        // Past the 60 ms and past Node's own look at slow clients, which comes once a second.
        if (ends) setTimeout(() => sent.end("b"), 1_200);
      });
    expect(await Promise.all([upload(patient, true), upload(strict, false)])).toEqual([201, "cut off"]);
    expect(patient.files.text("slow")).toBe("ab");
    expect(strict.files.text("slow")).toBeUndefined();
  });

  it("unpacks an archive under the config's limits", async () => {
    await using server = await boxServer();
    const answer = await put(server.url + server.at("into", "&extract=tar.gz"), "12345");
    expect(answer.body.data).toEqual({ path: "into", entries: 1, total_bytes: 5 });
    expect(server.files.extracted).toEqual({ path: "into", bytes: 5, format: "tar.gz" });
    expect(defaultLimitsConfig).toMatchObject({ archive_entries: 100_000 });
  });

  it("takes no archive for a file, where its query says what a download's would", async () => {
    await using server = await boxServer();
    const answer = await put(server.url + server.at("into", "&format=tar.gz"), "12345");
    const suggestion = expect.stringContaining("extract");
    expect(answer).toMatchObject({ status: 400, body: { meta: { error: "invalid_input", suggestion } } });
    expect((await put(server.url + server.at("into", "&exclusiv=true"), "12345")).status).toBe(400);
    expect(server.files.text("into")).toBeUndefined();
  });

  it("deletes, and says whether there was something", async () => {
    await using server = await boxServer();
    server.files.put("gone", "");
    const remove = async () =>
      (await read(await fetch(server.url + server.at("gone"), { method: "DELETE" }))).body.data;
    expect([await remove(), await remove()]).toEqual([
      { path: "gone", deleted: true },
      { path: "gone", deleted: false },
    ]);
  });

  it("is told in the event log, whole or cut off", async () => {
    await using server = await boxServer({ http: { uploadBytes: 5 } });
    const seen: unknown[] = [];
    server.engine.bus.subscribe(({ type, data, session_id }) =>
      seen.push([type, data, session_id === server.sessionId]),
    );
    await put(server.url + server.at("a"), "12345");
    await (await fetch(server.url + server.at("a"))).text();
    await put(server.url + server.at("b"), "123456");
    await fetch(server.url + server.at("a"), { method: "DELETE" });
    expect(seen).toEqual([
      ["file.uploaded", { path: "a", bytes: 5 }, true],
      ["file.downloaded", { path: "a", bytes: 5 }, true],
      ["file.deleted", { path: "a" }, true],
    ]);
  });
});

describe("the files of a session", () => {
  it("C01: are named by one decoding of a path, and refused where it is none", async () => {
    await using server = await boxServer();
    const base = `/api/v1/session/${server.sessionId}/files`;
    const refused = [
      "",
      "?path=",
      "?path=a%00b",
      "?path=%00",
      "?path=%c0%ae%c0%ae%2fetc%2fpasswd",
      "?path=%ff",
      "?path=%zz",
      "?path=a&path=b",
      `?path=${"a".repeat(4_097)}`,
    ];
    for (const query of refused) {
      for (const method of ["GET", "PUT", "DELETE"]) {
        const answer = await read(
          await fetch(server.url + base + query, { method, ...(method === "PUT" && { body: "x" }) }),
        );
        expect([query.slice(0, 30), method, answer.body.meta["error"]]).toEqual([
          query.slice(0, 30),
          method,
          "path_refused",
        ]);
      }
    }
    expect(server.files.entries.size).toBe(0);
    // Handed on as they are: what they lead to is in the sandbox, whatever they are.
    for (const [query, path] of [
      ["%252e%252e", "%2e%2e"],
      ["a%2Fb+c", "a/b c"],
      ["..%5C..", "..\\.."],
      ["%F0%9F%98%80", "😀"],
    ]) {
      await put(`${server.url}${base}?path=${query}`, "x");
      expect([...server.files.entries.keys()].at(-1)).toBe(`/workspace/${path}`);
    }
  });

  it("D01: are for no foreign page", async () => {
    await using server = await boxServer();
    server.files.put("a", "secret");
    for (const headers of [{ host: "evil.example" }, { origin: "http://evil.example" }]) {
      const status = await new Promise((resolve) =>
        request(server.url + server.at("a"), { headers }, (answer) => resolve(answer.statusCode)).end(),
      );
      expect(status).toBe(403);
    }
  });

  it("D03: of another tenant are answered as those of no session, and audited", async () => {
    const backend = new SandboxedBackend({ files: new MemoryFiles() });
    await using server = await keyedServer({ ours: {}, theirs: { tenant: "other" } }, { backends: [backend] });
    const { body } = await server.holders.ours.post("/api/v1/session/create", {
      worker_id: "w1",
      resource_type: "box",
    });
    const id: string = body.data.session_id;
    const unknown = `${id.slice(0, -4)}0000`;
    const ask = async (session: string, method: string) => {
      const headers = { authorization: `Bearer ${server.holders.theirs.key}` };
      const answer = await fetch(server.url + filesPath(session, "a"), {
        method,
        headers,
        ...(method === "PUT" && { body: "x" }),
      });
      const text = await answer.text();
      return [answer.status, text.replaceAll(session, "ID").replace(/"trace_id":"[^"]*"/, "")];
    };
    for (const method of ["GET", "PUT", "DELETE"]) {
      expect(await ask(id, method)).toEqual(await ask(unknown, method));
      expect((await ask(id, method))[0]).toBe(404);
    }
    const { body: audit } = await server.holders.ours.get("/api/v1/audit");
    expect(audit.data.entries).toContainEqual(expect.objectContaining({ action: "tenant.crossing", tenant: "other" }));
  });

  it("need execute on the resource, or a ticket for the session that works once", async () => {
    const files = new MemoryFiles();
    files.put("a", "content");
    const backend = new SandboxedBackend({ files });
    await using server = await keyedServer({ full: {}, reader: { scopes: ["box:read"] } }, { backends: [backend] });
    const { full, reader } = server.holders;
    const { body } = await full.post("/api/v1/session/create", { worker_id: "w1", resource_type: "box" });
    const path = filesPath(body.data.session_id, "a");
    expect((await reader.get(path)).status).toBe(403);
    expect((await server.get(path)).status).toBe(401);
    const ticketFor = async (purpose: string): Promise<string> =>
      (await full.post("/api/v1/tickets", { purpose })).body.data.ticket;
    const ticket = await ticketFor(body.data.session_id);
    expect(await (await fetch(`${server.url}${path}&ticket=${ticket}`)).text()).toBe("content");
    expect((await server.get(`${path}&ticket=${ticket}`)).status).toBe(401);
    expect((await server.get(`${path}&ticket=${await ticketFor("events")}`)).status).toBe(401);
  });

  it("are held while they pass: the session's end waits for them", async () => {
    await using server = await boxServer({ limits: { destroyWaitMs: 20 } });
    const gate = new Gate();
    server.files.put("a", "content");
    server.files.onRead = () => {
      gate.arrive();
      return gate.passed;
    };
    const reading = fetch(server.url + server.at("a")).then((answer) => answer.text());
    await gate.arrived();
    await server.post("/api/v1/session/destroy", { worker_id: "w1", resource_type: "box" });
    expect(server.backend.cleaned).toEqual([]);
    gate.open();
    expect(await reading).toBe("content");
    await expect.poll(() => server.backend.cleaned).toEqual([server.sessionId]);
  });

  it("are cut off by a forced end of the session", async () => {
    await using server = await boxServer();
    server.files.put("big", new Uint8Array(64 * 1024 * 1024));
    const answer = await fetch(server.url + server.at("big"));
    const reading = answer.arrayBuffer().catch(() => "cut off");
    const gate = new Gate();
    server.files.onRead = () => {
      gate.arrive();
      return gate.passed;
    };
    await gate.arrived();
    await server.post("/api/v1/session/destroy", { worker_id: "w1", resource_type: "box", force: true });
    expect(server.backend.cleaned).toEqual([server.sessionId]);
    gate.open();
    expect(await reading).toBe("cut off");
  });

  it("end with the server, which lends nothing more", async () => {
    const server = await boxServer({ limits: { drainMs: 30 } });
    server.files.put("big", new Uint8Array(64 * 1024 * 1024));
    const answer = await fetch(server.url + server.at("big"));
    await answer.body?.getReader().read();
    await server.stop();
    expect(server.backend.cleaned).toEqual([server.sessionId]);
  });

  it("are refused where the session has no sandbox, or its sandbox no files", async () => {
    await using server = await boxServer({}, { each: () => ({ files: undefined }) as never });
    expect((await server.get(server.at("a"))).body.meta["error"]).toBe("runtime_unavailable");
    await using plain = await boxServer({ backends: [["box", new ScriptedBackend({ sessions: true })]] });
    expect((await plain.get(plain.at("a"))).body.meta["error"]).toBe("invalid_input");
    expect(plain.engine.loans.count).toBe(0);
  });
});
