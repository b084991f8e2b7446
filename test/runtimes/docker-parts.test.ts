import { mkdir, mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import fc from "fast-check";
import { describe, expect, it, onTestFinished } from "vitest";
import { CircuitBreaker } from "../../src/runtimes/docker/circuit-breaker.ts";
import { Demultiplexer } from "../../src/runtimes/docker/demultiplexer.ts";
import { findEngine } from "../../src/runtimes/docker/engine-address.ts";
import { parseHandle } from "../../src/runtimes/docker/handle.ts";
import { ImagePolicy, toImageRemedy } from "../../src/runtimes/docker/image-policy.ts";
import { Presence } from "../../src/runtimes/docker/presence.ts";
import { SessionFolder } from "../../src/runtimes/docker/session-folder.ts";
import { chooseStateFolder } from "../../src/runtimes/docker/state-folder.ts";
import { DEFAULT_LIMITS } from "../../src/runtimes/kernel/limits.ts";
import { ManualClock } from "../kit/manual-clock.ts";

describe("the demultiplexer of an engine's streams", () => {
  const encode = (stream: number, data: Uint8Array) => {
    const header = Buffer.alloc(8);
    header.writeUInt8(stream, 0);
    header.writeUInt32BE(data.length, 4);
    return Buffer.concat([header, data]);
  };

  it("gives back each stream's bytes, however they were chunked", () => {
    const messages = fc.array(fc.tuple(fc.constantFrom(1, 2), fc.uint8Array({ maxLength: 40 })), { maxLength: 8 });
    const property = fc.property(messages, fc.array(fc.nat({ max: 30 }), { maxLength: 40 }), (sent, sizes) => {
      const wire = Buffer.concat(sent.map(([stream, data]) => encode(stream, data)));
      const seen = { stdout: Buffer.alloc(0), stderr: Buffer.alloc(0) };
      const demultiplexer = new Demultiplexer((stream, data) => (seen[stream] = Buffer.concat([seen[stream], data])));
      let rest = wire;
      for (const size of sizes) {
        demultiplexer.push(rest.subarray(0, size));
        rest = rest.subarray(size);
      }
      demultiplexer.push(rest);
      for (const [number, name] of [
        [1, "stdout"],
        [2, "stderr"],
      ] as const) {
        const expected = Buffer.concat(sent.filter(([stream]) => stream === number).map(([, data]) => data));
        expect(seen[name]).toEqual(expected);
      }
    });
    fc.assert(property);
  });

  it("refuses what no engine sends, and throws nothing else for any bytes", () => {
    expect(() => new Demultiplexer(() => {}).push(Buffer.from("plain text"))).toThrow("a bad header");
    const property = fc.property(fc.uint8Array({ maxLength: 100 }), (bytes) => {
      try {
        new Demultiplexer(() => {}).push(Buffer.from(bytes));
      } catch (error) {
        expect(error).toMatchObject({ name: "DemultiplexError" });
      }
    });
    fc.assert(property);
  });
});

describe("the circuit breaker", () => {
  it("opens after failures in a row, probes ever more rarely, and closes at the first answer", () => {
    const clock = new ManualClock();
    const breaker = new CircuitBreaker({ clock, failures: 2, openMs: 100, maxOpenMs: 300 });
    breaker.failed("a");
    breaker.succeeded();
    breaker.failed("b");
    expect([breaker.admit(), breaker.reason]).toEqual(["go", undefined]);
    for (const wait of [100, 200, 300, 300]) {
      breaker.failed("c");
      // One that was under way says nothing new.
      breaker.failed("late");
      clock.skip(wait - 1);
      expect([breaker.admit(), breaker.reason]).toEqual(["refuse", "late"]);
      clock.skip(1);
      expect(breaker.admit()).toBe("probe");
    }
    breaker.succeeded();
    expect(breaker.admit()).toBe("go");
  });
});

describe("the images that sessions may choose", () => {
  it("are the default one, our own, and those of the config's patterns", () => {
    const policy = new ImagePolicy({
      image: "mine/base:1",
      images: ["python:3.*", "node", "registry.example:5000/team/*"],
    });
    expect(policy.choose(undefined)).toBe("mine/base:1");
    const allowed = ["toolyard/code", "python:3.12-slim", "node", "node:22", "registry.example:5000/team/a/b:2"];
    expect(allowed.map((image) => policy.choose(image))).toEqual([
      ...["toolyard/code:latest", "python:3.12-slim", "node:latest", "node:22", "registry.example:5000/team/a/b:2"],
    ]);
    const refused = [
      "python:2",
      "python",
      "nodes",
      "evil/node",
      "registry.example:5000/teams/a",
      "toolyardx/code",
      "mine/base:2",
    ];
    for (const image of refused) expect(() => policy.choose(image)).toThrow("not among those");
    for (const image of ["", "A", "../x", "a b", "a\n", "a?x=1", "x".repeat(600), "node:"])
      expect(() => policy.choose(image)).toThrow("none that an engine knows");
  });

  it("say how they are had", () => {
    expect(toImageRemedy("toolyard/code-slim:latest")).toBe("toolyard images build code-slim");
    expect(toImageRemedy("python:3")).toBe("docker pull python:3");
  });
});

describe("what a docker sandbox is adopted by", () => {
  const handle = {
    deployment: "d",
    container: "0".repeat(64),
    folder: "0".repeat(16),
    image: "toolyard/code-slim:latest",
    limits: DEFAULT_LIMITS,
    languages: { python: { available: true }, bash: { available: false, reason: "none" } },
  };

  it("is read back as it was kept, through JSON", () => {
    expect(parseHandle(JSON.parse(JSON.stringify(handle)))).toEqual(handle);
  });

  it("is refused, and never thrown for, when it is anything else", () => {
    expect(parseHandle({ ...handle, limits: { ...DEFAULT_LIMITS, pids: -1 } })).toBeNull();
    expect(parseHandle({ ...handle, container: "../x" })).toBeNull();
    const property = fc.property(fc.jsonValue(), (value) => {
      expect(parseHandle(value)).toBeNull();
    });
    fc.assert(property);
  });
});

describe("where the docker runtime looks", () => {
  it("takes the configured socket, that of DOCKER_HOST, or the usual one, and no engine elsewhere", () => {
    expect(findEngine("/a.sock", "unix:///b.sock")).toEqual({ socketPath: "/a.sock" });
    expect(findEngine(undefined, "unix:///b.sock")).toEqual({ socketPath: "/b.sock" });
    for (const host of [undefined, ""])
      expect(findEngine(undefined, host ?? "")).toEqual({ socketPath: "/var/run/docker.sock" });
    expect(findEngine(undefined, "tcp://10.0.0.1:2375")).toHaveProperty("unusable");
  });

  it("keeps its state in the data folder, unless sockets have no room there", () => {
    expect(chooseStateFolder({ dataDir: "/srv/data" })).toBe("/srv/data/docker");
    expect(chooseStateFolder({ configured: "/x", dataDir: "/srv/data" })).toBe("/x");
    const deep = `/srv/${"deep/".repeat(20)}`;
    const chosen = chooseStateFolder({ dataDir: deep });
    expect(chosen.length).toBeLessThan(75);
    expect(chooseStateFolder({ dataDir: deep })).toBe(chosen);
    expect(chooseStateFolder({ dataDir: `${deep}other` })).not.toBe(chosen);
  });
});

describe("the folder of one sandbox", () => {
  it("is gone again when it cannot be filled, as on a full disk", async () => {
    const state = await mkdtemp(join(tmpdir(), "ty-"));
    await Promise.all(["s", "i"].map((name) => mkdir(join(state, name))));
    const presence = await Presence.open(state);
    onTestFinished(async () => {
      await presence.close();
      await rm(state, { recursive: true, force: true });
    });
    const [first = ""] = await presence.sources();
    await rm(first);
    await expect(SessionFolder.create(state, presence)).rejects.toMatchObject({ code: "ENOENT" });
    expect(await SessionFolder.list(state)).toEqual([]);
  });
});
